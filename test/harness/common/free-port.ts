import { codeOf } from "@isochrone/primitives";
import { once } from "node:events";
import { createServer } from "node:net";

// Below the ephemeral ports, so that outgoing connections can't take a stopped server's port.
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 200;

/** Returns a port without a listener. On another network namespace's address any port is free. */
export async function freePort(host: string, taken: Set<number>): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (taken.has(port) || !(await isFree(host, port))) continue;
    taken.add(port);
    return port;
  }
  throw new Error(`no free port on ${host} between ${FIRST} and ${LAST} in ${TRIES} tries`);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return true;
  } catch (error) {
    return codeOf(error) === "EADDRNOTAVAIL";
  }
}
