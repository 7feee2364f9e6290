//! The main loop of the proxy's thread.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::task::{Context, Poll};

use tokio::runtime::Builder;
use tokio::select;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{LocalSet, yield_now};

use super::{Command, Relay};
use crate::options::Options;

/// Runs a proxy until the other end of `commands` is dropped. Tells `ready` first whether it
/// could start. On return all sockets are closed.
pub(crate) fn run(
    options: Options,
    commands: UnboundedReceiver<Command>,
    ready: &Sender<io::Result<()>>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async {
        match Relay::new(&options) {
            Ok(relay) => {
                let _ = ready.send(Ok(()));
                run_commands(&Rc::new(relay), commands).await;
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    });
}

/// Carries out commands, each after everything that the sockets had ready before it.
async fn run_commands(relay: &Rc<Relay>, mut commands: UnboundedReceiver<Command>) {
    loop {
        let command = select! {
            biased;
            command = commands.recv() => command,
            () = poll_fn(|cx| relay.poll(cx)) => continue,
        };
        let Some(command) = command else {
            return;
        };
        catch_up(relay).await;
        match command {
            Command::Act(act) => act(relay),
            Command::Strike(act) => {
                relay.take_back();
                read_all(relay).await;
                act(relay);
            }
        }
    }
}

/// Takes note of all that the sockets have ready.
async fn catch_up(relay: &Rc<Relay>) {
    // tokio asks the kernel which sockets are ready.
    yield_now().await;
    poll_fn(|cx| {
        let _ = relay.poll(cx);
        Poll::Ready(())
    })
    .await;
    relay.read_all();
}

/// Takes note of all that was sent on connections that have just come to the proxy.
async fn read_all(relay: &Rc<Relay>) {
    yield_now().await;
    relay.read_all();
}

impl Relay {
    /// Accepts connections and lets pass what is due. Never ready: there is always more to do.
    fn poll(self: &Rc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let accepted = self.servers.borrow().poll_accept(cx);
            match accepted {
                Poll::Ready(arrival) => self.accepted(arrival),
                Poll::Pending => break,
            }
        }
        while self.timer.poll_ended(cx).is_ready() {
            self.settle();
        }
        Poll::Pending
    }
}
