//! To and from the types of the crate `http`.

use super::{Field, RequestHead, ResponseHead, Version};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};

impl From<Version> for http::Version {
    fn from(version: Version) -> Self {
        match version {
            Version::Http10 => Self::HTTP_10,
            Version::Http11 => Self::HTTP_11,
        }
    }
}

/// Copies the head, without a body. Fails for a target that [`Uri`] does not accept.
///
/// ```
/// # use bytewise::{Machine, RecvBuf, SendBuf, http1::{Config, Server, ServerEvent}};
/// # let (mut rx, mut tx, mut server) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
/// rx.push(b"GET /path?query HTTP/1.1\r\nHost: a\r\n\r\n");
/// let Some(ServerEvent::Request(head)) = server.next_event(&mut rx, &mut tx)? else { panic!() };
/// let request = http::Request::try_from(head)?;
/// assert_eq!((request.uri().path(), &request.headers()["host"]), ("/path", &"a".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl TryFrom<RequestHead<'_>> for Request<()> {
    type Error = http::Error;

    fn try_from(head: RequestHead<'_>) -> Result<Self, http::Error> {
        let mut request = Self::new(());
        *request.method_mut() = Method::from_bytes(head.method().as_bytes())?;
        *request.uri_mut() = Uri::try_from(head.target())?;
        *request.version_mut() = head.version().into();
        append(head.fields().iter(), request.headers_mut())?;
        Ok(request)
    }
}

/// Copies the head, without a body.
impl TryFrom<ResponseHead<'_>> for Response<()> {
    type Error = http::Error;

    fn try_from(head: ResponseHead<'_>) -> Result<Self, http::Error> {
        let mut response = Self::new(());
        *response.status_mut() = StatusCode::from_u16(head.status())?;
        *response.version_mut() = head.version().into();
        append(head.fields().iter(), response.headers_mut())?;
        Ok(response)
    }
}

/// The fields of a section, trailers too.
impl TryFrom<super::Fields<'_>> for HeaderMap {
    type Error = http::Error;

    fn try_from(fields: super::Fields<'_>) -> Result<Self, http::Error> {
        let mut map = Self::new();
        append(fields.iter(), &mut map)?;
        Ok(map)
    }
}

fn append<'f>(fields: impl Iterator<Item = Field<'f>>, to: &mut HeaderMap) -> Result<(), http::Error> {
    for (name, value) in fields {
        let (name, value) = (HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_bytes(value)?);
        // It fails above 32,768 fields, where `append` would panic.
        to.try_append(name, value).map_err(http::Error::from)?;
    }
    Ok(())
}

/// The fields of a map to send, without those that the core writes itself: `connection`, `content-length` and
/// `transfer-encoding`.
///
/// ```
/// use bytewise::{SendBuf, http1::{Client, Config, fields_of}};
///
/// let request = http::Request::get("/").header("host", "a").header("connection", "close").body(())?;
/// let (mut tx, mut client) = (SendBuf::new(), Client::new(&Config::default()));
/// client.request(request.method().as_str(), request.uri().path(), fields_of(request.headers()), "", &mut tx)?;
/// assert_eq!(tx.pending(), b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fields_of(map: &HeaderMap) -> impl Iterator<Item = Field<'_>> {
    const OURS: [HeaderName; 3] =
        [http::header::CONNECTION, http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING];
    map.iter().filter(|(name, _)| !OURS.contains(name)).map(|(name, value)| (name.as_str(), value.as_bytes()))
}
