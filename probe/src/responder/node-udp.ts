import { createSocket, type Socket } from "node:dgram";
import { addressLookup, errnoOf } from "../engine/sockets.ts";
import { UDP_QUEUE_BYTES, type ListenAddress, type Listener } from "./listener.ts";
import type { Responder } from "./responder.ts";
import { sourceOf } from "./source.ts";

export async function openNodeUdp(
  responder: Responder,
  listen: ListenAddress,
  monotonic: () => number,
): Promise<Listener> {
  const type = listen.address.includes(":") ? "udp6" : "udp4";
  const socket = createSocket({ type, lookup: addressLookup, recvBufferSize: UDP_QUEUE_BYTES });
  socket.on("message", (packet, remote) => {
    const atMs = monotonic();
    const source = sourceOf(remote.address);
    if (source === null || !responder.admit(packet, "udp", source, atMs)) return;
    responder.answer(packet, monotonic() - atMs + responder.signingMs);
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
  // After binding, errors concern single packets.
  socket.on("error", (error) => responder.refuse(`socket_${errnoOf(error)}`));
  return { port: socket.address().port, sweep: () => {}, close: () => closeSocket(socket) };
}

function closeSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.close(() => resolve());
  });
}
