// Encodes OTLP/HTTP answers in the format of the request: protobuf or JSON.
import type { FastifyReply, FastifyRequest } from "fastify";
import { encodeExportResponse, encodeStatus } from "./wire.ts";
import type { PartialSuccess } from "./wire.ts";

export const PROTOBUF = "application/x-protobuf";
export const JSON_TYPE = "application/json";

/** ExportMetricsServiceResponse. */
export function sendExportResponse(
  reply: FastifyReply,
  request: FastifyRequest,
  partial: PartialSuccess | undefined,
): FastifyReply {
  if (!isJson(request)) return reply.type(PROTOBUF).send(Buffer.from(encodeExportResponse(partial)));
  return reply
    .type(JSON_TYPE)
    .send(JSON.stringify(partial === undefined ? {} : { partialSuccess: jsonOf(partial) }));
}

/** google.rpc.Status. */
export function sendStatus(
  reply: FastifyReply,
  request: FastifyRequest,
  code: number,
  message: string,
): FastifyReply {
  return isJson(request)
    ? reply.type(JSON_TYPE).send(JSON.stringify({ code, message }))
    : reply.type(PROTOBUF).send(Buffer.from(encodeStatus(code, message)));
}

function isJson({ headers: { "content-type": type = "" } }: FastifyRequest): boolean {
  return /^application\/json *(;|$)/i.test(type);
}

/** ExportMetricsPartialSuccess; JSON encodes 64-bit integers as text. */
function jsonOf({ rejectedDataPoints, message }: PartialSuccess): object {
  return { rejectedDataPoints: String(rejectedDataPoints), errorMessage: message };
}
