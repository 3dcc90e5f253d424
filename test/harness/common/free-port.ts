import { codeOf } from "@isochrone/primitives";
import { once } from "node:events";
import { createServer } from "node:net";

// Start of a range below the kernel's ephemeral ports, so that outgoing connections can't take the port of a
// stopped server.
const FIRST = 20_000;
const LAST = 32_000;
const TRIES = 200;

/**
 * Returns a port without a listener that is not in `taken`. Any port is free on an address of another network
 * namespace.
 */
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
