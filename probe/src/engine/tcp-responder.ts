import { createServer, type Server, type Socket } from "node:net";
import { FRAME_HEAD_BYTES, FrameReader, createFrame } from "../domain/frames.ts";
import type { Responder } from "./responder.ts";
import { errnoOf } from "./sockets.ts";

/** Connections in all, and from one source: a peer needs one, and a second while it reconnects. */
const MAX_CONNECTIONS = 1024;
const MAX_CONNECTIONS_PER_SOURCE = 64;
/** A connection without a byte for so long is closed. Milliseconds. */
const IDLE_MS = 120_000;
/** Answers that a client may leave unread. Bytes. */
const MAX_UNREAD_BYTES = 65_536;

/** Opens the TCP side of the echo responder; resolves with its port. */
export async function openTcpResponder(
  responder: Responder,
  listen: { readonly address: string; readonly port: number },
  monotonic: () => number,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const connections = new Set<Socket>();
  const perSource = new Map<string, number>();
  const server = createServer({ noDelay: true }, (socket) => {
    const source = socket.remoteAddress;
    const already = source === undefined ? 0 : (perSource.get(source) ?? 0);
    if (
      source === undefined ||
      connections.size >= MAX_CONNECTIONS ||
      already >= MAX_CONNECTIONS_PER_SOURCE
    ) {
      responder.refuse("too_many_connections");
      socket.on("error", () => {});
      socket.destroy();
      return;
    }
    connections.add(socket);
    perSource.set(source, already + 1);
    socket.on("close", () => {
      connections.delete(socket);
      const left = (perSource.get(source) ?? 1) - 1;
      if (left > 0) perSource.set(source, left);
      else perSource.delete(source);
    });
    serve(socket, source, responder, monotonic);
  });
  await listening(server, listen);
  server.on("error", (error) => responder.refuse(`socket_${errnoOf(error)}`));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : listen.port,
    close: () => closeAll(server, connections),
  };
}

function serve(socket: Socket, source: string, responder: Responder, monotonic: () => number): void {
  const reader = new FrameReader();
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    const atMs = monotonic();
    const ours = reader.push(chunk, (packet) => {
      if (socket.destroyed || !responder.answer(packet, "tcp", source, atMs)) return;
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

function listening(
  server: Server,
  listen: { readonly address: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: listen.address, port: listen.port, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function closeAll(server: Server, connections: ReadonlySet<Socket>): Promise<void> {
  for (const socket of connections) socket.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
