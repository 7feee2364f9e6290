//! Every wait of Rust's standard library, each in a thread of its own, all at the same time: 200 ms. For each a line: its
//! name, the clock that it goes by, and how long it took by the monotonic clock, in milliseconds.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_millis(200);

fn recv_timeout() {
    let (_sender, receiver) = mpsc::channel::<()>();
    assert_eq!(
        receiver.recv_timeout(LENGTH),
        Err(RecvTimeoutError::Timeout)
    );
}

fn condition() {
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    let (_guard, result) = condition
        .wait_timeout(lock.lock().unwrap(), LENGTH)
        .unwrap();
    assert!(result.timed_out());
}

fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (stream, listener.accept().unwrap().0)
}

fn read() {
    let (mut stream, _peer) = connected();
    stream.set_read_timeout(Some(LENGTH)).unwrap();
    assert!(stream.read(&mut [0]).is_err());
}

fn write() {
    let (mut stream, _peer) = connected();
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65536]).is_ok() {}
    stream.set_nonblocking(false).unwrap();
    stream.set_write_timeout(Some(LENGTH)).unwrap();
    assert!(stream.write(&[0]).is_err());
}

fn datagram() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LENGTH)).unwrap();
    assert!(socket.recv(&mut [0]).is_err());
}

fn measure(name: &str, wait: impl Fn()) {
    let begin = Instant::now();
    wait();
    println!("{name} mono {:.3}", begin.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    println!("begin");
    thread::scope(|scope| {
        scope.spawn(|| measure("thread::sleep", || thread::sleep(LENGTH)));
        scope.spawn(|| measure("thread::park_timeout", || thread::park_timeout(LENGTH)));
        scope.spawn(|| measure("Receiver::recv_timeout", recv_timeout));
        scope.spawn(|| measure("Condvar::wait_timeout", condition));
        scope.spawn(|| measure("TcpStream::set_read_timeout", read));
        scope.spawn(|| measure("TcpStream::set_write_timeout", write));
        scope.spawn(|| measure("UdpSocket::set_read_timeout", datagram));
    });
}
