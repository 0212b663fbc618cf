//! Redirects, of a client that follows them and of one that does not.

use crate::{
    client::{Client, Response},
    site::{Site, ok, redirect},
};
use bytewise::http1;
use bytewise_net::RequestError;

on_every_runtime!(
    not_unless_asked_for,
    methods,
    bodies,
    fields_of_the_body_go_with_it,
    relative_locations,
    fragments,
    to_the_same_site,
    to_another_site,
    and_back,
    as_often_as_allowed,
    no_redirect,
    locations_that_cannot_be_followed,
    the_connection_is_used_again,
    a_redirect_with_a_long_body,
    uploads,
);

/// Sends `/status?location` there with that status; answers anything else with method, target and body.
fn site() -> Site {
    Site::answering(|request| {
        let (path, location) = request.target().split_once('?').unwrap_or((request.target(), ""));
        match path[1..].parse() {
            Ok(status) => redirect(status, location),
            Err(_) => ok(&format!("{} {} {}", request.method(), request.target(), request.body)),
        }
    })
}

fn not_unless_asked_for<C: Client>() {
    let site = Site::answering(|request| redirect(301, &format!("https://example.org{}", request.target())));
    let mut response = C::new().get(&site.url("/a")).unwrap();
    assert_eq!(response.status(), 301);
    assert_eq!(response.head().fields().get("location"), Some(&b"https://example.org/a"[..]));
    assert_eq!((response.text(), response.url()), ("moved".into(), site.url("/a").as_str()));
    assert_eq!(site.heard(), ["0 GET /a"]);
}

/// RFC 9110, section 15.4.
fn methods<C: Client>() {
    let site = site();
    let client = C::new().redirects(1);
    for (status, asked, then) in [
        (301, "GET", "GET"),
        (301, "HEAD", "HEAD"),
        (301, "POST", "GET"),
        (301, "PUT", "PUT"),
        (301, "DELETE", "DELETE"),
        (302, "GET", "GET"),
        (302, "HEAD", "HEAD"),
        (302, "POST", "GET"),
        (302, "PATCH", "PATCH"),
        (303, "GET", "GET"),
        (303, "HEAD", "HEAD"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (307, "GET", "GET"),
        (307, "POST", "POST"),
        (307, "PUT", "PUT"),
        (308, "POST", "POST"),
        (308, "HEAD", "HEAD"),
    ] {
        let target = format!("/{status}?/there");
        let mut response = client.request(asked, &site.url(&target), &[], "").unwrap();
        assert_eq!((response.status(), response.url()), (200, site.url("/there").as_str()), "{status} {asked}");
        let text = if then == "HEAD" { String::new() } else { format!("{then} /there ") };
        assert_eq!(response.text(), text);
        assert_eq!(site.heard(), [format!("0 {asked} {target}"), format!("0 {then} /there")]);
    }
}

fn bodies<C: Client>() {
    let site = site();
    let client = C::new().redirects(5);
    for status in [307, 308] {
        let url = site.url(&format!("/{status}?/{status}?/there"));
        assert_eq!(client.post(&url, "hello").unwrap().text(), "POST /there hello");
        let requests: Vec<_> = (0..3).map(|_| site.request()).collect();
        assert!(requests.iter().all(|request| request.body == "hello"), "{requests:?}");
    }
    for status in [301, 302, 303] {
        let url = site.url(&format!("/{status}?/there"));
        assert_eq!(client.post(&url, "hello").unwrap().text(), "GET /there ");
        assert_eq!(site.request().body, "hello");
        assert_eq!(site.request().field("content-length"), None);
    }
}

/// What says something of a body is not said without one (RFC 9110, section 15.4).
fn fields_of_the_body_go_with_it<C: Client>() {
    let site = site();
    let client = C::new().redirects(1);
    let fields =
        [("Content-Type", "text/plain"), ("content-language", "en"), ("x-one", "1"), ("Expect", "100-continue")];
    client.request("POST", &site.url("/303?/there"), &fields, "hello").unwrap().text();
    assert_eq!(
        site.request().names(),
        ["host", "Content-Type", "content-language", "x-one", "Expect", "content-length"]
    );
    assert_eq!(site.request().names(), ["host", "x-one"]);
    client.request("POST", &site.url("/307?/there"), &fields, "hello").unwrap().text();
    assert_eq!(site.request().names(), site.request().names());
}

fn relative_locations<C: Client>() {
    let client = C::new().redirects(1);
    for (location, target) in [
        ("/c", "/c"),
        ("c", "/a/c"),
        ("../c", "/c"),
        ("../../../c", "/c"),
        ("./d/../c", "/a/c"),
        ("?q", "/a/b?q"),
        ("//{host}/c", "/c"),
        ("http://{host}", "/"),
        ("HTTP://{host}/c?q", "/c?q"),
        // What does not go into a target as it is.
        ("/c d\u{e9}", "/c%20d%C3%A9"),
    ] {
        let site = Site::answering(move |request| match request.target() {
            "/a/b" => redirect(302, &location.replace("{host}", request.field("host").unwrap())),
            target => ok(target),
        });
        let mut response = client.get(&site.url("/a/b")).unwrap();
        assert_eq!((response.text().as_str(), response.url()), (target, site.url(target).as_str()), "{location}");
    }
}

/// RFC 9110, section 10.2.2: it is not sent, and inherited.
fn fragments<C: Client>() {
    let site = site();
    let client = C::new().redirects(2);
    let url = |of: &str| client.get(&site.url(of)).unwrap().url().to_owned();
    assert_eq!(url("/302?/there"), site.url("/there"));
    assert_eq!(url("/302?/there#mine"), site.url("/there#mine"));
    assert_eq!(url("/302?/302?/there#mine"), site.url("/there#mine"));
    let site = Site::answering(|request| match request.target() {
        "/there" => ok(""),
        _ => redirect(302, "/there#theirs"),
    });
    assert_eq!(client.get(&site.url("/a#mine")).unwrap().url(), site.url("/there#theirs"));
}

const FIELDS: [(&str, &str); 6] = [
    ("authorization", "Basic YTpi"),
    ("Cookie", "a=b"),
    ("PROXY-authorization", "Basic YTpi"),
    ("Host", "example.org"),
    ("x-one", "1"),
    ("accept", "*/*"),
];

fn to_the_same_site<C: Client>() {
    let site = site();
    let client = C::new().redirects(5);
    client.request("GET", &site.url("/302?/307?/there"), &FIELDS, "").unwrap().text();
    let requests: Vec<_> = (0..3).map(|_| site.request()).collect();
    for request in &requests {
        assert_eq!(request.names(), FIELDS.map(|(name, _)| name));
    }
    assert_eq!(requests[2].head.lines().nth(4), Some("Host: example.org"));
}

/// Whoever it is, what was meant for one site is not for another: nor is its name.
fn to_another_site<C: Client>() {
    let (from, to) = (site(), site());
    let client = C::new().redirects(5);
    let url = from.url(&format!("/302?{}", to.url("/there")));
    let mut response = client.request("GET", &url, &FIELDS, "").unwrap();
    assert_eq!((response.text(), response.url()), ("GET /there ".into(), to.url("/there").as_str()));
    assert_eq!(from.request().names().len(), 6);
    let request = to.request();
    assert_eq!(request.names(), ["host", "x-one", "accept"]);
    assert_eq!(request.field("host"), Some(to.address.to_string().as_str()));
}

/// Who was sent back by another site was sent by it.
fn and_back<C: Client>() {
    let (one, other) = (site(), site());
    let client = C::new().redirects(5);
    let url = one.url(&format!("/302?{}", other.url(&format!("/302?{}", one.url("/there")))));
    client.request("GET", &url, &FIELDS, "").unwrap().text();
    assert_eq!(one.request().names().len(), 6);
    other.request();
    assert_eq!(one.request().names(), ["host", "x-one", "accept"]);
}

fn as_often_as_allowed<C: Client>() {
    let site = Site::answering(|request| {
        let left: u32 = request.target()[1..].parse().unwrap();
        if left == 0 { ok("there") } else { redirect(302, &format!("/{}", left - 1)) }
    });
    let client = C::new().redirects(3);
    assert_eq!(client.ask_get(&site.url("/3")), "there");
    let _ = site.heard();
    let error = client.refused("GET", &site.url("/4"));
    assert!(matches!(error, RequestError::TooManyRedirects), "{error}");
    assert_eq!(error.to_string(), "too many redirects");
    assert_eq!(site.heard().len(), 4);
    // Round and round.
    let site = Site::answering(|_| redirect(307, "/"));
    assert!(matches!(client.refused("POST", &site.url("/")), RequestError::TooManyRedirects));
    assert_eq!(site.heard().len(), 4);
}

/// Comes as a response.
fn no_redirect<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/none" => ok("").replace("200", "302"),
        target => redirect(target[1..].parse().unwrap(), "/never"),
    });
    let client = C::new().redirects(5);
    for target in ["/none", "/200", "/201", "/300", "/304", "/305", "/306", "/404"] {
        let response = client.get(&site.url(target)).unwrap();
        assert_eq!(response.url(), site.url(target));
    }
    assert!(!site.heard().iter().any(|heard| heard.ends_with("/never")));
}

fn locations_that_cannot_be_followed<C: Client>() {
    let site = site();
    let client = C::new().redirects(5);
    for (location, why) in [
        ("https://127.0.0.1/", "it needs TLS"),
        ("ftp://127.0.0.1/", "the scheme is neither http nor https"),
        ("mailto:a@b", "the scheme is neither http nor https"),
        ("http://a:b@127.0.0.1/", "a user name in a URL is not sent"),
        ("http://[::1/", "invalid IPv6 address"),
        ("http://127.0.0.1:99999/", "invalid port number"),
    ] {
        match client.refused("GET", &site.url(&format!("/302?{location}"))) {
            RequestError::Url(text) => assert!(text.contains(why), "{location}: {text}"),
            other => panic!("{location}: {other}"),
        }
    }
    let latin = Site::start(|conn| {
        while conn.request().is_some() {
            conn.say(b"HTTP/1.1 302 Found\r\nlocation: /\xe9\r\ncontent-length: 0\r\n\r\n");
        }
    });
    assert!(matches!(client.refused("GET", &latin.url("/")), RequestError::Url(_)));
}

/// What a redirect says to people is read over.
fn the_connection_is_used_again<C: Client>() {
    let site = site();
    assert_eq!(C::new().redirects(5).ask_get(&site.url("/302?/303?/there")), "GET /there ");
    assert!(site.heard().iter().all(|heard| heard.starts_with("0 ")));
}

/// Unless there is much of it.
fn a_redirect_with_a_long_body<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/there" => ok("there"),
        _ => {
            format!("HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 1000000\r\n\r\n{}", "x".repeat(200_000))
        }
    });
    let client = C::new().redirects(1);
    assert_eq!(client.ask_get(&site.url("/a")), "there");
    assert_eq!(site.ended(), 0);
    assert_eq!(site.heard(), ["0 GET /a", "1 GET /there"]);
}

/// Come as responses: what was streamed is gone.
fn uploads<C: Client>() {
    use crate::client::Upload;
    let site = site();
    let client = C::new().redirects(5);
    let mut upload = client.begin("PUT", &site.url("/307?/there"), &[], http1::BodyLength::Chunked).unwrap();
    upload.send("hello").unwrap();
    let response = upload.finish(&[]).unwrap();
    assert_eq!((response.status(), response.url()), (307, site.url("/307?/there").as_str()));
}
