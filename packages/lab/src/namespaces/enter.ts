import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { NamespaceError } from "./errors.ts";

const O_CLOEXEC = 0o2000000;
/** Of this thread, not of the process's first one as /proc/self would be. */
const OWN_NAMESPACE = "/proc/thread-self/ns/net";

/** Goes back to the namespace that the thread was in before; does nothing the second time. */
type LeaveNamespace = () => void;

/**
 * Moves the CALLING THREAD into the network namespace behind `path` (`NamespaceLab.namespacePath(node)`).
 * Sockets belong for ever to the namespace in which they were made. Meant for worker threads, at their begin,
 * and for good: a thread's namespace is a hidden global. Whatever else runs in the thread, timers and other
 * tests' callbacks included, opens its sockets there too while it is in, worker threads and child processes
 * started meanwhile begin in it, and Node's thread pool (DNS, files) stays outside.
 * @throws NamespaceError `system_call_failed`
 */
export async function enterNamespace(path: string): Promise<LeaveNamespace> {
  return enterNamespaceWith(await loadLibc(), path);
}

/** {@link enterNamespace} for who has libc already. */
function enterNamespaceWith(libc: Libc, path: string): LeaveNamespace {
  const before = openNamespace(libc, OWN_NAMESPACE);
  try {
    moveTo(libc, path);
  } catch (error) {
    libc.close(before);
    throw error;
  }
  let inside = true;
  return () => {
    if (!inside) return;
    inside = false;
    const result = libc.setNetworkNamespace(before);
    const reason = libc.lastError();
    libc.close(before);
    if (result < 0) throw failed("setns back to the thread's own namespace", reason);
  };
}

/**
 * Runs `run` inside the namespace and comes back before anything else can run in the thread, so that it is
 * safe anywhere. `run` must not be asynchronous: only what it does before its first `await` would happen
 * inside. Good for opening sockets of kernel-sockets; sockets of Node's are opened later than the call that
 * asks for them.
 * @throws NamespaceError `system_call_failed`, and whatever `run` throws
 */
export function runInNamespace<T>(libc: Libc, path: string, run: () => T): T {
  const leave = enterNamespaceWith(libc, path);
  try {
    return run();
  } finally {
    leave();
  }
}

function moveTo(libc: Libc, path: string): void {
  const fd = openNamespace(libc, path);
  const result = libc.setNetworkNamespace(fd);
  const reason = libc.lastError();
  libc.close(fd);
  if (result < 0) throw failed(`setns to ${path}`, reason);
}

function openNamespace(libc: Libc, path: string): number {
  const fd = libc.open(path, O_CLOEXEC);
  if (fd < 0) throw failed(`open ${path}`, libc.lastError());
  return fd;
}

function failed(call: string, reason: string): NamespaceError {
  return new NamespaceError("system_call_failed", `${call}: ${reason}`);
}
