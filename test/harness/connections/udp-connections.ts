import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

const SOCKETS = 200;
const PORTS = 50;

export async function makeUdpConnections(count: number): Promise<void> {
  for (let made = 0, target = 1; made < count; target++) {
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, opened));
    for (const socket of sockets)
      for (let port = 0; port < PORTS && made < count; port++, made++)
        await new Promise<void>((resolve) =>
          socket.send("x", 9000 + port, `127.0.${target}.2`, () => resolve()),
        );
    for (const socket of sockets) socket.close();
  }
}

async function opened(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}
