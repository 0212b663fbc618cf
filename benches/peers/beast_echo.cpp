// Echoes of Boost.Beast, written like its examples http_server_async and websocket_server_async, but with larger read
// buffers.
//
//     beast_echo http|ws CONTEXTS THREADS
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
#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error "Boost is older than 1.81"
#endif

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

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

static void fail(const char* what, beast::error_code ec) {
    std::cerr << "beast_echo: " << what << ": " << ec.message() << '\n';
}

// One connection: a request is read whole and answered, then the next one.
class http_session : public std::enable_shared_from_this<http_session> {
    // Beast takes bodies out of the buffer while they come, so that it never grows by itself, and reads what it has room
    // for: 512 bytes at a time. At 16 KiB this makes it four times as fast.
    static constexpr std::size_t read_size = 64 << 10;

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;

public:
    explicit http_session(tcp::socket&& socket) : stream_(std::move(socket)) {
        buffer_.reserve(read_size);
    }

    void run() {
        beast::error_code ec;
        stream_.socket().set_option(tcp::no_delay(true), ec);
        net::dispatch(stream_.get_executor(), beast::bind_front_handler(&http_session::read, shared_from_this()));
    }

private:
    void read() {
        parser_.emplace();
        parser_->body_limit(max_body);
        stream_.expires_after(std::chrono::seconds(30));
        http::async_read(stream_, buffer_, *parser_, beast::bind_front_handler(&http_session::on_read, shared_from_this()));
    }

    void on_read(beast::error_code ec, std::size_t) {
        if (ec == http::error::end_of_stream)
            return close();
        if (ec)
            return fail("read", ec);
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
                           beast::bind_front_handler(&http_session::on_write, shared_from_this(), keep_alive));
    }

    void on_write(bool keep_alive, beast::error_code ec, std::size_t) {
        if (ec)
            return fail("write", ec);
        keep_alive ? read() : close();
    }

    void close() {
        beast::error_code ec;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ec);
    }
};

// One connection: after the handshake, a message is read whole and sent back in one frame, then the next one.
class ws_session : public std::enable_shared_from_this<ws_session> {
    // Beast reads what follows a header into this one. (A beast::buffered_read_stream below it costs more than it saves.)
    static constexpr std::size_t read_size = 64 << 10;

    websocket::stream<beast::tcp_stream> ws_;
    beast::flat_buffer buffer_;

public:
    explicit ws_session(tcp::socket&& socket) : ws_(std::move(socket)) {
        buffer_.reserve(read_size);
    }

    void run() {
        beast::error_code ec;
        beast::get_lowest_layer(ws_).socket().set_option(tcp::no_delay(true), ec);
        net::dispatch(ws_.get_executor(), beast::bind_front_handler(&ws_session::accept, shared_from_this()));
    }

private:
    void accept() {
        ws_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
        ws_.read_message_max(max_body);
        ws_.auto_fragment(false);
        ws_.async_accept(beast::bind_front_handler(&ws_session::on_accept, shared_from_this()));
    }

    void on_accept(beast::error_code ec) {
        if (ec)
            return fail("accept", ec);
        read();
    }

    void read() {
        ws_.async_read(buffer_, beast::bind_front_handler(&ws_session::on_read, shared_from_this()));
    }

    void on_read(beast::error_code ec, std::size_t) {
        // Clients end without a closing handshake.
        if (ec == websocket::error::closed || ec == net::error::eof)
            return;
        if (ec)
            return fail("read", ec);
        ws_.text(ws_.got_text());
        ws_.async_write(buffer_.data(), beast::bind_front_handler(&ws_session::on_write, shared_from_this()));
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
    const std::string_view protocol = argc == 4 ? argv[1] : "";
    const int contexts = argc == 4 ? std::atoi(argv[2]) : 0;
    const int threads = argc == 4 ? std::atoi(argv[3]) : 0;
    const bool is_known = protocol == "http" || protocol == "ws";
    if (!is_known || contexts < 1 || threads < contexts || (contexts > 1 && contexts != threads)) {
        std::cerr << "usage: beast_echo http|ws CONTEXTS THREADS, with a socket as standard input and output\n";
        return EXIT_FAILURE;
    }
    std::thread(tell).detach();
    protocol == "http" ? serve<http_session>(contexts, threads) : serve<ws_session>(contexts, threads);
}
