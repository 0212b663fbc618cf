//! What a URL becomes: where to connect, the target, and `host`.

use crate::{
    client::{Client, OnRuntime, Response},
    site::Site,
};
use bytewise::http1;
use bytewise_net::{self as net, ClientOptions, Connect, Driver, HttpClient, RequestError};
use std::{
    error::Error,
    future::Future,
    io,
    sync::{Arc, Mutex},
};

on_every_runtime!(a_host_of_ones_own, a_version_6_address, names_and_addresses, urls_that_are_none);

fn a_host_of_ones_own<C: Client>() {
    let site = Site::plain();
    for name in ["host", "Host"] {
        C::new().request("GET", &site.url("/"), &[("x-one", "1"), (name, "example.org")], "").unwrap().text();
        assert_eq!(site.request().head, format!("GET / HTTP/1.1\r\nx-one: 1\r\n{name}: example.org\r\n\r\n"));
    }
}

/// With brackets in the field, and without where it is connected to.
fn a_version_6_address<C: Client>() {
    // Where there is none, there is nothing to be seen.
    let Some(site) = Site::on("[::1]:0") else { return };
    let port = site.address.port();
    assert_eq!(C::new().ask_get(&format!("http://[0:0::1]:{port}/")), "GET /");
    assert_eq!(site.request().field("host"), Some(format!("[::1]:{port}").as_str()));
}

fn names_and_addresses<C: Client>() {
    let site = Site::plain();
    let port = site.address.port();
    let client = C::new();
    for (host, field) in [("localhost", "localhost"), ("LOCALHOST", "localhost"), ("127.1", "127.0.0.1")] {
        assert_eq!(client.ask_get(&format!("http://{host}:{port}/")), "GET /");
        assert_eq!(site.request().field("host"), Some(format!("{field}:{port}").as_str()));
    }
}

/// Each with the reason; nobody is asked.
fn urls_that_are_none<C: Client>() {
    let client = C::new();
    for (url, why) in [
        ("https://127.0.0.1/", "it needs TLS, which this client was not given (`with_tls`, of the feature `tls`)"),
        ("HTTPS://127.0.0.1/", "it needs TLS, which this client was not given (`with_tls`, of the feature `tls`)"),
        ("ftp://127.0.0.1/", "the scheme is neither http nor https"),
        ("data:,a", "the scheme is neither http nor https"),
        ("http://a@127.0.0.1/", "a user name in a URL is not sent; set the field `authorization`"),
        ("http://a:b@127.0.0.1/", "a user name in a URL is not sent; set the field `authorization`"),
        ("http://:b@127.0.0.1/", "a user name in a URL is not sent; set the field `authorization`"),
        ("", "relative URL without a base"),
        ("/a", "relative URL without a base"),
        ("127.0.0.1/a", "relative URL without a base"),
        ("http://", "empty host"),
        ("http://[::1/", "invalid IPv6 address"),
        ("http://a b/", "invalid international domain name"),
        ("http://127.0.0.1:65536/", "invalid port number"),
    ] {
        let errors = [
            client.get(url).err(),
            client.post(url, "").err(),
            client.request("PUT", url, &[], "").err(),
            client.post_stream(url).err(),
            client.begin("PUT", url, &[], http1::BodyLength::Chunked).err(),
        ];
        for error in errors.map(Option::unwrap) {
            assert!(matches!(error, RequestError::Url(_)), "{url}: {error:?}");
            assert_eq!(error.to_string(), format!("the URL cannot be used: {why}"));
            assert!(error.source().is_none());
        }
    }
}

/// A way of one's own to connect: whatever is asked for, to one site. That is how proxies are tried, too.
#[derive(Debug, Clone)]
struct To {
    site: Option<u16>,
    asked: Arc<Mutex<Vec<(String, u16)>>>,
}

impl Connect for To {
    type Io = net::tokio::Stream;

    fn connect(
        &self,
        host: &str,
        port: u16,
        options: &ClientOptions,
        machine: http1::Client,
    ) -> impl Future<Output = io::Result<Driver<Self::Io, http1::Client>>> + Send {
        self.asked.lock().unwrap().push((host.into(), port));
        let site = self.site.ok_or_else(|| io::Error::other("nobody is there"));
        async move { net::tokio::Connector.connect("127.0.0.1", site?, options, machine).await }
    }
}

#[test]
fn a_connector_of_ones_own() {
    let site = Site::plain();
    let to = To { site: Some(site.address.port()), asked: Arc::default() };
    let client = HttpClient::with_connector(to.clone(), ClientOptions::default());
    for (url, host, port, target, field) in [
        ("http://example.org", "example.org", 80, "/", "example.org"),
        ("http://example.org:80/a", "example.org", 80, "/a", "example.org"),
        ("http://example.org:8080/a", "example.org", 8080, "/a", "example.org:8080"),
        ("http://Example.ORG./a", "example.org.", 80, "/a", "example.org."),
        ("http://b\u{fc}cher.example/", "xn--bcher-kva.example", 80, "/", "xn--bcher-kva.example"),
        ("http://127.0.0.1:443/", "127.0.0.1", 443, "/", "127.0.0.1:443"),
        ("http://[::1]/", "::1", 80, "/", "[::1]"),
        ("http://[2001:DB8::0:1]:8080/", "2001:db8::1", 8080, "/", "[2001:db8::1]:8080"),
        ("http://a/b/../c//d?e?f#g?h", "a", 80, "/c//d?e?f", "a"),
        ("http://a/?", "a", 80, "/?", "a"),
        ("http://a/b c\"<>\u{e9}?d e\"<>#f", "a", 80, "/b%20c%22%3C%3E%C3%A9?d%20e%22%3C%3E", "a"),
        ("  http://a/\nb  ", "a", 80, "/b", "a"),
        // Not changed, for it could mean something else.
        ("http://a/%7Eb/%2F?%41", "a", 80, "/%7Eb/%2F?%41", "a"),
    ] {
        let mut response = crate::client::TOKIO.block_on(client.get(url)).unwrap();
        crate::client::TOKIO.block_on(response.body(1000)).unwrap();
        let request = site.request();
        assert_eq!((request.target(), request.field("host")), (target, Some(field)), "{url}");
        let asked = std::mem::take(&mut *to.asked.lock().unwrap());
        // Equal ones share a connection, whatever they were written like.
        assert!(asked.is_empty() || asked == [(host.to_owned(), port)], "{url}: {asked:?}");
    }
}

#[test]
fn a_connector_that_fails() {
    let to = To { site: None, asked: Arc::default() };
    let client = HttpClient::with_connector(to, ClientOptions::default());
    let error = net::tokio::Connector::block_on(client.get("http://a/")).unwrap_err();
    assert_eq!(error.to_string(), "connecting failed: nobody is there");
    assert_eq!(error.source().unwrap().to_string(), "nobody is there");
}
