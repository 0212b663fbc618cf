// Echoes of Boost.Beast, written like its examples http_server_async and websocket_server_async, but with larger read
// buffers.
//
//     beast_echo http|ws|https|wss CONTEXTS THREADS WORK
//
// WORK is how many rounds of arithmetic each message takes, as in src/work.rs.
//
// The last two need BEAST_ECHO_TLS when it is built; then the environment has a certificate and its key,
// BEAST_ECHO_CERTIFICATE and BEAST_ECHO_KEY, as PEM.
//
// It accepts on descriptor 0, a listening socket. Descriptor 1 is a stream socket: each byte received there is answered
// with a line of two numbers, the monotonic clock and the CPU time of this process, in nanoseconds; at its end the
// process ends too.
//
// One context is run by all threads, with a strand per connection if there are several. More contexts have one thread
// each, and connections are dealt out to them in turn.

#if !__has_include(<boost/version.hpp>)
#error "there are no Boost headers"
#endif
#if defined(BEAST_ECHO_TLS) && !__has_include(<openssl/ssl.h>)
#error "there are no OpenSSL headers"
#endif
#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error "Boost is older than 1.81"
#endif

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#ifdef BEAST_ECHO_TLS
#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket/ssl.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
namespace net = boost::asio;
using tcp = net::ip::tcp;

static constexpr std::uint64_t max_body = 16 << 20;

static unsigned long rounds = 0;

// The work of one message.
static void work() {
    if (rounds == 0)
        return;
    static const volatile std::uint64_t seed = 0x9E3779B97F4A7C15;
    std::uint64_t bytes = seed;
    for (unsigned long i = 0; i < rounds; ++i)
        bytes = (bytes ^ (bytes >> 32)) * 0xD6E8FEB86659FD93;
    [[maybe_unused]] volatile std::uint64_t kept = bytes;
}

static void fail(const char* what, beast::error_code ec) {
    std::cerr << "beast_echo: " << what << ": " << ec.message() << '\n';
}

// What is spoken over: how it is made of a socket, begins and ends.
struct plain {
    using stream = beast::tcp_stream;

    static stream make(tcp::socket&& socket) { return stream(std::move(socket)); }

    template <class F> static void handshake(stream&, F&& then) { then(beast::error_code{}); }

    template <class F> static void shutdown(stream& stream, F&& then) {
        beast::error_code ec;
        stream.socket().shutdown(tcp::socket::shutdown_send, ec);
        then(ec);
    }
};

#ifdef BEAST_ECHO_TLS
struct tls {
    using stream = beast::ssl_stream<beast::tcp_stream>;

    static stream make(tcp::socket&& socket) {
        static net::ssl::context context = make_context();
        return stream(std::move(socket), context);
    }

    template <class F> static void handshake(stream& stream, F&& then) {
        stream.async_handshake(net::ssl::stream_base::server, std::forward<F>(then));
    }

    template <class F> static void shutdown(stream& stream, F&& then) { stream.async_shutdown(std::forward<F>(then)); }

private:
    // As all others: TLS 1.3, one suite, no tickets.
    static net::ssl::context make_context() {
        const auto pem = [](const char* name) { return net::buffer(std::string_view(std::getenv(name))); };
        net::ssl::context context(net::ssl::context::tlsv13_server);
        context.use_certificate_chain(pem("BEAST_ECHO_CERTIFICATE"));
        context.use_private_key(pem("BEAST_ECHO_KEY"), net::ssl::context::pem);
        SSL_CTX_set_ciphersuites(context.native_handle(), "TLS_AES_128_GCM_SHA256");
        SSL_CTX_set_num_tickets(context.native_handle(), 0);
        return context;
    }
};
#endif

// One connection: a request is read whole and answered, then the next one.
template <class layer> class http_session : public std::enable_shared_from_this<http_session<layer>> {
    // Beast takes bodies out of the buffer while they come, so that it never grows by itself, and reads what it has room
    // for: 512 bytes at a time. At 16 KiB this makes it four times as fast.
    static constexpr std::size_t read_size = 64 << 10;

    typename layer::stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;

public:
    explicit http_session(tcp::socket&& socket) : stream_(layer::make(std::move(socket))) {
        buffer_.reserve(read_size);
    }

    void run() {
        beast::error_code ec;
        beast::get_lowest_layer(stream_).socket().set_option(tcp::no_delay(true), ec);
        net::dispatch(stream_.get_executor(), beast::bind_front_handler(&http_session::begin, this->shared_from_this()));
    }

private:
    void begin() {
        beast::get_lowest_layer(stream_).expires_after(std::chrono::seconds(30));
        layer::handshake(stream_, beast::bind_front_handler(&http_session::on_begin, this->shared_from_this()));
    }

    void on_begin(beast::error_code ec) {
        if (ec)
            return fail("handshake", ec);
        read();
    }

    void read() {
        parser_.emplace();
        parser_->body_limit(max_body);
        beast::get_lowest_layer(stream_).expires_after(std::chrono::seconds(30));
        http::async_read(stream_, buffer_, *parser_, beast::bind_front_handler(&http_session::on_read, this->shared_from_this()));
    }

    void on_read(beast::error_code ec, std::size_t) {
        if (ec == http::error::end_of_stream)
            return close();
        if (ec)
            return fail("read", ec);
        work();
        auto request = parser_->release();
        http::response<http::string_body> response{http::status::ok, request.version()};
        response.keep_alive(request.keep_alive());
        response.body() = std::move(request.body());
        response.prepare_payload();
        send(std::move(response));
    }

    void send(http::message_generator&& response) {
        const bool keep_alive = response.keep_alive();
        beast::async_write(stream_, std::move(response),
                           beast::bind_front_handler(&http_session::on_write, this->shared_from_this(), keep_alive));
    }

    void on_write(bool keep_alive, beast::error_code ec, std::size_t) {
        if (ec)
            return fail("write", ec);
        keep_alive ? read() : close();
    }

    void close() {
        layer::shutdown(stream_, [self = this->shared_from_this()](beast::error_code) {});
    }
};

// One connection: after the handshake, a message is read whole and sent back in one frame, then the next one.
template <class layer> class ws_session : public std::enable_shared_from_this<ws_session<layer>> {
    // Beast reads what follows a header into this one. (A beast::buffered_read_stream below it costs more than it saves.)
    static constexpr std::size_t read_size = 64 << 10;

    websocket::stream<typename layer::stream> ws_;
    beast::flat_buffer buffer_;

public:
    explicit ws_session(tcp::socket&& socket) : ws_(layer::make(std::move(socket))) {
        buffer_.reserve(read_size);
    }

    void run() {
        beast::error_code ec;
        beast::get_lowest_layer(ws_).socket().set_option(tcp::no_delay(true), ec);
        net::dispatch(ws_.get_executor(), beast::bind_front_handler(&ws_session::begin, this->shared_from_this()));
    }

private:
    void begin() {
        layer::handshake(ws_.next_layer(), beast::bind_front_handler(&ws_session::accept, this->shared_from_this()));
    }

    void accept(beast::error_code ec) {
        if (ec)
            return fail("handshake", ec);
        ws_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
        ws_.read_message_max(max_body);
        ws_.auto_fragment(false);
        ws_.async_accept(beast::bind_front_handler(&ws_session::on_accept, this->shared_from_this()));
    }

    void on_accept(beast::error_code ec) {
        if (ec)
            return fail("accept", ec);
        read();
    }

    void read() {
        ws_.async_read(buffer_, beast::bind_front_handler(&ws_session::on_read, this->shared_from_this()));
    }

    void on_read(beast::error_code ec, std::size_t) {
        // Clients end without a closing handshake.
        if (ec == websocket::error::closed || ec == net::error::eof)
            return;
        if (ec)
            return fail("read", ec);
        work();
        ws_.text(ws_.got_text());
        ws_.async_write(buffer_.data(), beast::bind_front_handler(&ws_session::on_write, this->shared_from_this()));
    }

    void on_write(beast::error_code ec, std::size_t) {
        if (ec)
            return fail("write", ec);
        buffer_.consume(buffer_.size());
        read();
    }
};


// Accepts for one context, which that many threads run.
template <class session> class listener {
    tcp::acceptor& acceptor_;
    net::io_context& context_;
    const bool one_thread_;

public:
    listener(tcp::acceptor& acceptor, net::io_context& context, int threads)
        : acceptor_(acceptor), context_(context), one_thread_(threads == 1) {}

    void accept() {
        const auto executor = one_thread_ ? net::any_io_executor(context_.get_executor()) : net::make_strand(context_);
        acceptor_.async_accept(executor, [this](beast::error_code ec, tcp::socket socket) {
            if (ec)
                std::cerr << "beast_echo: accept: " << ec.message() << '\n';
            else
                std::make_shared<session>(std::move(socket))->run();
            accept();
        });
    }
};

// Tells the time until nobody asks any more.
static void tell() {
    char byte;
    while (read(STDOUT_FILENO, &byte, 1) == 1) {
        timespec at{}, cpu{};
        clock_gettime(CLOCK_MONOTONIC, &at);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
        const auto ns = [](const timespec& time) { return std::uint64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; };
        dprintf(STDOUT_FILENO, "%ju %ju\n", std::uintmax_t(ns(at)), std::uintmax_t(ns(cpu)));
    }
    _exit(EXIT_SUCCESS);
}

template <class session> static void one_context(int threads) {
    net::io_context context{threads};
    tcp::acceptor acceptor(context, tcp::v4(), STDIN_FILENO);
    listener<session> listener(acceptor, context, threads);
    listener.accept();
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
        others.emplace_back([&] { context.run(); });
    context.run();
}

template <class session> static void many_contexts(int count) {
    std::vector<std::unique_ptr<net::io_context>> contexts;
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
        auto& context = *contexts.emplace_back(std::make_unique<net::io_context>(1));
        threads.emplace_back([&context] {
            const auto work = net::make_work_guard(context);
            context.run();
        });
    }
    net::io_context accepting{1};
    tcp::acceptor acceptor(accepting, tcp::v4(), STDIN_FILENO);
    for (int next = 0;; next = (next + 1) % count)
        std::make_shared<session>(acceptor.accept(*contexts[next]))->run();
}

template <class session> static void serve(int contexts, int threads) {
    contexts == 1 ? one_context<session>(threads) : many_contexts<session>(contexts);
}

int main(int argc, char* argv[]) {
    const std::string_view protocol = argc == 5 ? argv[1] : "";
    const int contexts = argc == 5 ? std::atoi(argv[2]) : 0;
    const int threads = argc == 5 ? std::atoi(argv[3]) : 0;
    rounds = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 0;
    void (*serving)(int, int) = protocol == "http" ? serve<http_session<plain>>
                      : protocol == "ws" ? serve<ws_session<plain>>
                                         : nullptr;
#ifdef BEAST_ECHO_TLS
    serving = protocol == "https" ? serve<http_session<tls>> : protocol == "wss" ? serve<ws_session<tls>> : serving;
#endif
    if (!serving || contexts < 1 || threads < contexts || (contexts > 1 && contexts != threads)) {
        std::cerr << "usage: beast_echo http|ws|https|wss CONTEXTS THREADS WORK, with a socket as standard input and output\n";
        return EXIT_FAILURE;
    }
    std::thread(tell).detach();
    serving(contexts, threads);
}
