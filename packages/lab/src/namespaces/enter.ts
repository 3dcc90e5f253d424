import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { NamespaceError } from "./errors.ts";

const O_CLOEXEC = 0o2000000;
/** This thread's namespace; /proc/self would be the main thread's. */
const OWN_NAMESPACE = "/proc/thread-self/ns/net";

type LeaveNamespace = () => void;

/**
 * Moves the calling thread into the network namespace at `path` (`NamespaceLab.namespacePath(node)`). Sockets
 * stay in the namespace in which they were opened. Use it at the start of a worker thread and never leave:
 * all code of the thread opens its sockets there, new workers and child processes inherit it, and Node's
 * thread pool (DNS, files) stays outside.
 * @throws NamespaceError `system_call_failed`
 */
export async function enterNamespace(path: string): Promise<LeaveNamespace> {
  return enterNamespaceWith(await loadLibc(), path);
}

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
 * Runs synchronous `run` inside the namespace and returns before other code of the thread can run. Only for
 * sockets of kernel-sockets: Node.js opens its sockets later than the call.
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
