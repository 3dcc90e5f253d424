import { SystemCallError, type Libc } from "@isochrone/kernel-sockets";

const O_RDONLY = 0;

/** Moves the calling thread and its future sockets into this network namespace. @throws SystemCallError */
export function enterNamespace(libc: Libc, path: string): void {
  const fd = libc.open(path, O_RDONLY);
  if (fd < 0) throw new SystemCallError(`open ${path}`, libc.lastError());
  const result = libc.setNetworkNamespace(fd);
  const code = libc.lastError();
  libc.close(fd);
  if (result < 0) throw new SystemCallError(`setns ${path}`, code);
}
