import { createSocket, type Socket } from "node:dgram";
import { addressLookup, errnoOf } from "./sockets.ts";
import type { Responder } from "./responder.ts";

/** Opens the UDP side of the echo responder; resolves with its port. */
export async function openUdpResponder(
  responder: Responder,
  listen: { readonly address: string; readonly port: number },
  monotonic: () => number,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const type = listen.address.includes(":") ? "udp6" : "udp4";
  const socket = createSocket({ type, lookup: addressLookup });
  socket.on("message", (packet, remote) => {
    const atMs = monotonic();
    if (!responder.answer(packet, "udp", remote.address, atMs)) return;
    socket.send(packet, remote.port, remote.address, (error) => {
      if (error) responder.refuse(`send_${errnoOf(error)}`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ address: listen.address, port: listen.port, exclusive: true }, () => {
      socket.off("error", reject);
      resolve();
    });
  });
  // After binding, errors are those of single packets.
  socket.on("error", (error) => responder.refuse(`socket_${errnoOf(error)}`));
  return { port: socket.address().port, close: () => closeSocket(socket) };
}

function closeSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.close(() => resolve());
  });
}
