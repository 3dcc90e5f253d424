import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

export function contentEtag(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
}

/** Sets the ETag; returns true after a 304. Caches must revalidate: graphs change every second. */
export function isUnchanged(request: FastifyRequest, reply: FastifyReply, etag: string): boolean {
  void reply.header("etag", etag).header("cache-control", "no-cache");
  const wanted = request.headers["if-none-match"];
  if (wanted === undefined || !matches(wanted, etag)) return false;
  void reply.code(304);
  return true;
}

// Weak comparison (RFC 9110, 13.1.2).
function matches(wanted: string, etag: string): boolean {
  if (wanted.trim() === "*") return true;
  return wanted.split(",").some((candidate) => candidate.trim().replace(/^W\//, "") === etag);
}
