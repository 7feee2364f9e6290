//! One node behind a listener: its connections, its master, its clock, its shutdown.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::{self, IpAddr};
use std::panic;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

use super::Surroundings;
use super::other_clients::SocketClients;
use super::sockets::{Socket, Sockets, connect};
use crate::endpoint::{self, Action, Endpoint, Expiry, Limits, MAX_SLEEP, Now};
use crate::engine::{Addresses, ConnId, Node};

/// The most bytes per read; a client that has sent more waits for the other clients' turns.
const READ_BYTES: usize = 64 << 10;

/// The pause before the next accept when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Serves a node until a client calls SHUTDOWN or `stop` is signalled.
///
/// # Errors
///
/// If the listener cannot be registered with the event loop.
///
/// # Panics
///
/// If the node panics.
pub(super) async fn serve(
    listener: net::TcpListener,
    node: Node,
    around: Surroundings,
) -> io::Result<()> {
    let stop = around.stop.clone();
    listener.set_nonblocking(true)?;
    let second = listener.try_clone()?;
    let listener = TcpListener::from_std(listener)?;
    let (connect, mut connects) = mpsc::unbounded_channel();
    let (newcomer, mut newcomers) = mpsc::unbounded_channel();
    let sockets = around.machine.sockets().clone();
    sockets.begin();
    let server = Rc::new(Server {
        endpoint: RefCell::new(Endpoint::new(node, Limits::default(), Expiry::Always)),
        sockets: sockets.clone(),
        ip: listener.local_addr()?.ip(),
        around,
        buffer: RefCell::new(vec![0; READ_BYTES]),
        connect,
        newcomer,
        called: Notify::new(),
        exit: Notify::new(),
        shut_down: Cell::new(false),
    });
    let other_clients = SocketClients::new(sockets, second, &server.around);
    server.endpoint.borrow_mut().attend(other_clients);
    let mut tasks = JoinSet::new();
    tasks.spawn_local(server.clone().run_timer());
    tasks.spawn_local(server.clone().keep_pauses());
    while !server.shut_down.get() {
        tokio::select! {
            biased;
            () = server.exit.notified() => {}
            () = stop.signalled() => return Ok(()),
            Some(ended) = tasks.join_next() => {
                // The runtime caught the panic; it must not be ignored.
                if let Err(Ok(panicked)) = ended.map_err(|error| error.try_into_panic()) {
                    panic::resume_unwind(panicked);
                }
            }
            Some(master) = connects.recv() => {
                tasks.spawn_local(server.clone().follow(master));
            }
            Some(conn) = newcomers.recv() => {
                tasks.spawn_local(server.clone().serve_connection(conn));
            }
            () = server.sockets.arrived.notified() => {
                while let Some(accepted) = server.accept_waiting() {
                    if let Some(conn) = accepted {
                        tasks.spawn_local(server.clone().serve_connection(conn));
                    }
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let addresses = server.sockets.lock().accepted(stream);
                    if let Some(conn) = server.accept_client(addresses) {
                        tasks.spawn_local(server.clone().serve_connection(conn));
                    }
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    Ok(())
}

/// A request to connect to the node's master.
struct Master {
    conn: ConnId,
    host: String,
    port: u16,
}

struct Server {
    endpoint: RefCell<Endpoint>,
    sockets: Arc<Sockets>,
    /// The address that the node listens on and connects from.
    ip: IpAddr,
    around: Surroundings,
    /// The read buffer shared by all connections, one at a time.
    buffer: RefCell<Vec<u8>>,
    /// Requests for connections.
    connect: UnboundedSender<Master>,
    /// Connections that were accepted while a script ran, and need a task.
    newcomer: UnboundedSender<ConnId>,
    /// Signals that the node was called, so its next deadline may be earlier.
    called: Notify,
    exit: Notify,
    shut_down: Cell<bool>,
}

/// The next step of a connection's task.
enum Turn {
    /// Handle this many received bytes.
    Received(usize),
    /// Forget the connection.
    End,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.sockets.end();
    }
}

impl Server {
    /// Accepts a connection that another thread has lent, if one waits.
    fn accept_waiting(&self) -> Option<Option<ConnId>> {
        let addresses = self.sockets.lock().accept_waiting()?;
        Some(self.accept_client(addresses))
    }

    /// Accepts the newest connection, unless there are too many.
    fn accept_client(&self, addresses: Addresses) -> Option<ConnId> {
        let accepted = (self.endpoint.borrow_mut()).accept(addresses, self.now());
        self.sockets.lock().begin_newest(accepted);
        accepted
    }

    /// Connects to the node's master, and reads from it until the connection ends.
    async fn follow(self: Rc<Self>, master: Master) {
        let conn = master.conn;
        let Ok(stream) = self.open(&master).await else {
            self.endpoint.borrow_mut().closed(conn);
            self.called.notify_one();
            return;
        };
        let socket = Socket::new(stream);
        self.sockets.lock().open.insert(conn, socket);
        self.endpoint.borrow_mut().connected(conn, self.now());
        self.execute_effects();
        self.serve_connection(conn).await;
    }

    async fn open(&self, master: &Master) -> io::Result<TcpStream> {
        let mut addresses = lookup_host((&*master.host, master.port)).await?;
        let address = addresses.next().ok_or(io::ErrorKind::NotFound)?;
        // The master sees which replica it is.
        connect(self.ip, address).await
    }

    /// The time of what the node does next; it does nothing while it is paused.
    fn now(&self) -> Now {
        self.around.machine.stand_still(&self.around.stop);
        self.around.machine.now()
    }

    async fn keep_pauses(self: Rc<Self>) {
        self.around.machine.keep_pauses(&self.around.stop).await;
    }

    /// Serves one connection until it ends.
    async fn serve_connection(self: Rc<Self>, conn: ConnId) {
        while let Turn::Received(count) = poll_fn(|context| self.poll(conn, context)).await {
            // Nothing else ran since that wait, so the buffer still belongs to this
            // connection.
            self.receive(conn, count);
            self.execute_effects();
            self.called.notify_one();
            if count == READ_BYTES {
                yield_now().await;
            }
        }
        self.endpoint.borrow_mut().closed(conn);
        self.sockets.lock().open.remove(&conn);
        self.called.notify_one();
    }

    /// Handles bytes that arrived on a connection.
    fn receive(&self, conn: ConnId, count: usize) {
        let bytes = &self.buffer.borrow()[..count];
        (self.endpoint.borrow_mut()).receive(conn, bytes, self.now());
    }

    /// Sends the unsent output of a connection, then reads.
    fn poll(&self, conn: ConnId, context: &mut Context<'_>) -> Poll<Turn> {
        if self.flush(conn, context).is_err() {
            return Poll::Ready(Turn::End);
        }
        // The node may have closed it, now that all output is sent.
        self.execute_effects();
        let mut sockets = self.sockets.lock();
        let Some(socket) = sockets.open.get_mut(&conn) else {
            return Poll::Ready(Turn::End);
        };
        socket.set_waker(context.waker());
        if self.endpoint.borrow().is_closing(conn) {
            return Poll::Pending;
        }
        let mut buffer = self.buffer.borrow_mut();
        let mut buffer = ReadBuf::new(&mut buffer);
        let read = ready!(Pin::new(&mut socket.stream).poll_read(context, &mut buffer));
        Poll::Ready(match (read, buffer.filled().len()) {
            (Ok(()), count @ 1..) => Turn::Received(count),
            // As in Redis, a client that closes its sending side is disconnected.
            _ => Turn::End,
        })
    }

    fn flush(&self, conn: ConnId, context: &mut Context<'_>) -> io::Result<()> {
        let mut endpoint = self.endpoint.borrow_mut();
        let mut sockets = self.sockets.lock();
        let Some(socket) = sockets.open.get_mut(&conn) else {
            return Ok(());
        };
        while let Some(bytes) = endpoint.unwritten(conn)
            && let Poll::Ready(written) = Pin::new(&mut socket.stream).poll_write(context, bytes)
        {
            endpoint.wrote(conn, written?);
        }
        socket.is_full = endpoint.unwritten(conn).is_some();
        Ok(())
    }

    fn execute_effects(&self) {
        let newcomers = std::mem::take(&mut self.sockets.lock().newcomers);
        for conn in newcomers {
            self.endpoint.borrow_mut().accepted(conn);
            // If the receiver is gone, the node is about to end.
            let _ = self.newcomer.send(conn);
        }
        loop {
            let Some(action) = self.endpoint.borrow_mut().poll() else {
                return;
            };
            match action {
                Action::Write { conn } => self.write(conn),
                // The connection's task asks the endpoint whether it may read.
                Action::StopReading { .. } => {}
                Action::Close { conn } => self.end(conn),
                Action::Connect { conn, host, port } => {
                    // If the receiver is gone, the node is about to end.
                    let _ = self.connect.send(Master { conn, host, port });
                }
                Action::Disk(write) => {
                    // Once it is to stop, a script may be incomplete.
                    if !self.around.stop.is_signalled() {
                        self.around.machine.write(write);
                    }
                }
                Action::Exit => {
                    self.shut_down.set(true);
                    self.exit.notify_one();
                }
            }
        }
    }

    /// Writes pending output to a socket; the rest is left to the connection's task.
    fn write(&self, conn: ConnId) {
        let mut endpoint = self.endpoint.borrow_mut();
        let mut sockets = self.sockets.lock();
        let socket = sockets.open.get_mut(&conn);
        let (Some(socket), Some(bytes)) = (socket, endpoint.unwritten(conn)) else {
            return;
        };
        match socket.stream.try_write(bytes) {
            Ok(count) => endpoint.wrote(conn, count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => endpoint.wrote(conn, 0),
            Err(_) => {
                endpoint.closed(conn);
                drop(sockets);
                self.end(conn);
                return;
            }
        }
        socket.is_full = endpoint.unwritten(conn).is_some();
        if socket.is_full {
            socket.wake();
        }
    }

    /// Closes a connection and ends its task.
    fn end(&self, conn: ConnId) {
        let socket = self.sockets.lock().open.remove(&conn);
        if let Some(socket) = socket {
            socket.wake();
        }
    }

    /// Wakes the node whenever something is due. It checks after each round of clients, not
    /// after each request.
    async fn run_timer(self: Rc<Self>) {
        loop {
            let Some(wake_us) = self.endpoint.borrow().next_wake_us() else {
                self.called.notified().await;
                continue;
            };
            let now = self.now();
            if now.wall_us >= wake_us {
                self.endpoint.borrow_mut().wake(now);
                self.execute_effects();
                yield_now().await;
                continue;
            }
            let machine = &self.around.machine;
            let nap = machine.true_time(endpoint::sleep(wake_us, now.wall_us));
            tokio::select! {
                biased;
                () = self.called.notified() => {}
                () = machine.clock_set() => {}
                () = sleep(nap.min(MAX_SLEEP)) => {}
            }
        }
    }
}
