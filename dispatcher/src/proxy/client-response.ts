import type { OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { isGrpc, type HeaderValues } from "../domain/headers.ts";
import { REFUSALS } from "../ports/ports.ts";
import type { Inbound } from "./attempt.ts";
import type { Refusal } from "./target.ts";

export interface ResponseStream extends Writable {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string | string[]): unknown;
  getHeaderNames(): string[];
  removeHeader(name: string): unknown;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  addTrailers(headers: OutgoingHttpHeaders): void;
  flushHeaders?(): void;
}

export interface Client {
  readonly request: Inbound;
  readonly response: ResponseStream;
  readonly isHttp2: boolean;
  /** Socket of a WebSocket upgrade; else null. */
  readonly socket: Socket | null;
  /** After close: whether the response was sent completely. */
  readonly wasSent: () => boolean;
}

const REASON_HEADER = "isochrone-reason";

/** The dispatcher's own response: a problem document or a gRPC status. */
export function sendRefusal(
  response: ResponseStream,
  { reason, detail }: Refusal,
  { headers, endsConnection }: { readonly headers: HeaderValues; readonly endsConnection: boolean },
): void {
  const { status, grpc } = REFUSALS[reason];
  if (endsConnection) response.setHeader("connection", "close");
  response.setHeader(REASON_HEADER, reason);
  if (isGrpc(headers)) {
    response.statusCode = 200;
    response.setHeader("content-type", "application/grpc");
    response.setHeader("grpc-status", String(grpc));
    response.setHeader("grpc-message", encodeURIComponent(`${reason}: ${detail}`));
    response.end();
    return;
  }
  const body = JSON.stringify({ title: detail, status, reason });
  response.statusCode = status;
  response.setHeader("content-type", "application/problem+json");
  response.setHeader("content-length", String(Buffer.byteLength(body)));
  if (status === 503) response.setHeader("retry-after", "1");
  response.end(body);
}
