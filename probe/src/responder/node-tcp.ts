import { createServer, type Server, type Socket } from "node:net";
import { FRAME_HEAD_BYTES, FrameReader, createFrame } from "../domain/frames.ts";
import { errnoOf } from "../engine/sockets.ts";
import { ConnectionTable } from "./connection-table.ts";
import { MAX_UNREAD_BYTES, type ListenAddress, type Listener } from "./listener.ts";
import type { Responder } from "./responder.ts";
import { sourceOf, type Source } from "./source.ts";

export async function openNodeTcp(
  responder: Responder,
  listen: ListenAddress,
  monotonic: () => number,
): Promise<Listener> {
  const connections = new ConnectionTable<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    const source = sourceOf(socket.remoteAddress ?? "");
    socket.on("error", () => socket.destroy());
    const evict = (oldest: Socket): void => {
      responder.refuse("evicted");
      connections.remove(oldest);
      oldest.destroy();
    };
    if (source === null || !connections.admits(source.key, evict)) {
      responder.refuse("too_many_connections");
      socket.destroy();
      return;
    }
    connections.add(socket, source.key, monotonic());
    socket.on("close", () => connections.remove(socket));
    serve(socket, source, { responder, connections, monotonic });
  });
  await listening(server, listen);
  server.on("error", (error) => responder.refuse(`socket_${errnoOf(error)}`));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : listen.port,
    sweep(nowMs): void {
      for (const socket of connections.expired(nowMs)) socket.destroy();
    },
    close: () => closeAll(server, connections),
  };
}

interface Surroundings {
  readonly responder: Responder;
  readonly connections: ConnectionTable<Socket>;
  readonly monotonic: () => number;
}

function serve(socket: Socket, source: Source, { responder, connections, monotonic }: Surroundings): void {
  const reader = new FrameReader();
  socket.on("data", (chunk: Buffer) => {
    const atMs = monotonic();
    connections.heard(socket, atMs);
    const ours = reader.push(chunk, (packet) => {
      if (socket.destroyed || !responder.admit(packet, "tcp", source, atMs)) return;
      connections.proven(socket);
      responder.answer(packet, monotonic() - atMs + responder.signingMs);
      const out = createFrame(packet.length);
      packet.copy(out.frame, FRAME_HEAD_BYTES);
      socket.write(out.frame);
    });
    if (!ours) responder.refuse("bad_frame");
    else if (socket.writableLength > MAX_UNREAD_BYTES) responder.refuse("slow_reader");
    else return;
    socket.destroy();
  });
}

function listening(server: Server, listen: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: listen.address, port: listen.port, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function closeAll(server: Server, connections: ConnectionTable<Socket>): Promise<void> {
  for (const socket of connections.all) socket.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
