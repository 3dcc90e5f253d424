import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clusterColumnsOf, type ClusterGraphSnapshot } from "@isochrone/topology";

interface Bodies {
  readonly plain: Buffer;
  /** Created for the first client that accepts it. */
  gzipped: Promise<Buffer> | null;
}

const compress = promisify(gzip);
/** Numeric columns shrink to a quarter at level 1; higher levels gain little. */
const LEVEL = { level: constants.Z_BEST_SPEED };

/** Cache: every open page requests every version, so each is serialized and compressed once. */
const bodies = new WeakMap<ClusterGraphSnapshot, Bodies>();

export async function sendColumns(
  request: FastifyRequest,
  reply: FastifyReply,
  graph: ClusterGraphSnapshot,
): Promise<FastifyReply> {
  let body = bodies.get(graph);
  if (body === undefined) {
    body = { plain: Buffer.from(JSON.stringify(clusterColumnsOf(graph))), gzipped: null };
    bodies.set(graph, body);
  }
  void reply.type("application/json; charset=utf-8").header("vary", "accept-encoding");
  if (!takesGzip(request.headers["accept-encoding"])) return reply.send(body.plain);
  body.gzipped ??= compress(body.plain, LEVEL);
  return reply.header("content-encoding", "gzip").send(await body.gzipped);
}

/** Matches the header of browsers. Clients with quality values get plain text. */
function takesGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? "")
    .split(",")
    .some((coding) => coding.trim().toLowerCase() === "gzip");
}
