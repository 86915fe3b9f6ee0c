//! Local sockets that keep the borders of messages: `SOCK_SEQPACKET`, between processes of one user.

use super::member::{Outlet, Sent};
use crate::NetError;
use paceline_wire::exchange::MAX_SIZE;
use rustix::event::{Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, Stat, chmod, flock, fstat, lstat, mkdir, open, unlink};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recv, send, socket_with,
};
use rustix::process::geteuid;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;

/// One end of a connection; it never blocks.
pub(super) struct MessageSocket(OwnedFd);

/// The outcome of reading a message.
pub(super) enum Read<'b> {
    /// A message; one that is longer than any may be is cut to one byte more than that.
    Message(&'b [u8]),
    /// No message has arrived yet.
    Nothing,
    /// The other end has closed the connection, or it broke. A message without bytes cannot be told from that, and is none.
    Closed,
}

impl MessageSocket {
    /// Connects to the exchange that listens at `path`, which must be this user's.
    ///
    /// # Errors
    /// Nobody listens, too many wait, or it is somebody else's.
    pub fn connect(path: &Path) -> Result<MessageSocket, Errno> {
        let socket = new_socket()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        let socket = MessageSocket(socket);
        if socket.is_own() { Ok(socket) } else { Err(Errno::PERM) }
    }

    /// Whether the process at the other end is of the same user.
    pub fn is_own(&self) -> bool {
        socket_peercred(&self.0).is_ok_and(|peer| peer.uid == geteuid())
    }

    /// Number of the process at the other end; 0 if the system does not say.
    pub fn process(&self) -> u32 {
        socket_peercred(&self.0).map_or(0, |peer| peer.pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// The next message, in `buffer`, which has room for more than any message.
    pub fn read<'b>(&self, buffer: &'b mut [u8; MAX_SIZE + 1]) -> Read<'b> {
        match recv(&self.0, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((length, _)) if length > 0 => Read::Message(&buffer[..length]),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            Ok(_) | Err(_) => Read::Closed,
        }
    }
}

impl Outlet for MessageSocket {
    fn send(&mut self, message: &[u8]) -> Sent {
        match send(&self.0, message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) => Sent::Done,
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Sent::Later,
            Err(_) => Sent::Broken,
        }
    }
}

impl AsFd for MessageSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn new_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A socket file on which an exchange listens; it is removed at the end.
pub(super) struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    /// Device and number of the file: another exchange may have put its own in its place.
    file: (u64, u64),
}

impl Listener {
    /// Listens at `path`, for this user alone. A folder that is missing is made, and the file that a dead exchange has left
    /// is replaced.
    ///
    /// # Errors
    /// An exchange is there already, or something else; or the system refuses.
    pub fn bind(path: &Path) -> Result<Listener, NetError> {
        let failed = |error: Errno| NetError::LocalSocket { path: path.to_path_buf(), source: error.into() };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        match mkdir(folder, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        // Of two that start at once, the second looks when the first listens.
        let _lock = StartLock::take(path).map_err(failed)?;
        remove_stale(path)?;
        Listener::listen(path).map_err(failed)
    }

    fn listen(path: &Path) -> Result<Listener, Errno> {
        let socket = new_socket()?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Nobody can connect before `listen`.
        let listener = Listener { socket, path: path.into(), file: identity(&lstat(path)?) };
        chmod(path, Mode::RUSR | Mode::WUSR)?;
        listen(&listener.socket, BACKLOG)?;
        Ok(listener)
    }

    /// Whether its file is still where processes look for it.
    pub fn is_there(&self) -> bool {
        match lstat(&self.path) {
            Ok(found) => identity(&found) == self.file,
            Err(error) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
        }
    }

    /// Listens at a new file in place of one that was taken away. Connections stay.
    ///
    /// # Errors
    /// As [`Listener::bind`]: another exchange may be there by now.
    pub fn renew(&mut self) -> Result<(), NetError> {
        *self = Listener::bind(&self.path)?;
        Ok(())
    }

    /// The next process that has connected; none if nobody waits.
    ///
    /// # Errors
    /// The system refuses, for want of descriptors or memory.
    pub fn accept(&self) -> Result<Option<MessageSocket>, Errno> {
        match accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => Ok(Some(MessageSocket(socket))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.is_there() {
            // A file that stays is replaced by the next exchange.
            let _ = unlink(&self.path);
        }
    }
}

/// A locked file beside the socket's, there while an exchange starts. The folder itself may be shared, and locked by anybody.
struct StartLock {
    _file: OwnedFd,
    path: PathBuf,
}

impl StartLock {
    /// Waits for the lock; whoever holds it for a second is no exchange that starts.
    fn take(socket: &Path) -> Result<StartLock, Errno> {
        let mut name = socket.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let moment = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        for _ in 0..100 {
            let file = open(&path, flags, Mode::RUSR | Mode::WUSR)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let taken = identity(&fstat(&file)?);
                    if lstat(&path).is_ok_and(|found| identity(&found) == taken) {
                        return Ok(StartLock { _file: file, path });
                    }
                    // The holder before took its file away between this opening and this locking.
                }
                Err(Errno::WOULDBLOCK) => drop(poll(&mut [], Some(&moment))?),
                Err(error) => return Err(error),
            }
        }
        Err(Errno::WOULDBLOCK)
    }
}

impl Drop for StartLock {
    fn drop(&mut self) {
        // While it is still locked: a file that stays is locked by the next exchange.
        let _ = unlink(&self.path);
    }
}

/// The device and the number of a file: its name may be given to another.
fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

/// Removes the socket file of an exchange that has died.
fn remove_stale(path: &Path) -> Result<(), NetError> {
    let failed = |error: Errno| NetError::LocalSocket { path: path.to_path_buf(), source: error.into() };
    let file = match lstat(path) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let kind = rustix::fs::FileType::from_raw_mode(file.st_mode);
    if kind != rustix::fs::FileType::Socket {
        return Err(NetError::NoSocket { path: path.into() });
    }
    let probe = new_socket().map_err(failed)?;
    match SocketAddrUnix::new(path).and_then(|address| connect(&probe, &address)) {
        Err(Errno::CONNREFUSED) => unlink(path).map_err(failed),
        Err(Errno::PROTOTYPE) => Err(NetError::NoSocket { path: path.into() }),
        // An exchange that has more waiting than it takes is alive too.
        Ok(()) | Err(Errno::AGAIN) => Err(NetError::ExchangeThere { path: path.into() }),
        Err(error) => Err(failed(error)),
    }
}
