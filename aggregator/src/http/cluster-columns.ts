import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clusterColumnsOf, type ClusterGraphSnapshot } from "@isochrone/topology";

interface Bodies {
  readonly plain: Buffer;
  /** Made when the first client wants it. */
  gzipped: Promise<Buffer> | null;
}

const compress = promisify(gzip);
/** Columns of figures shrink to a quarter at the first level, and to little less at any other. */
const LEVEL = { level: constants.Z_BEST_SPEED };

/**
 * Each page that is open asks for every version: it is written out once, and compressed once, for all of
 * them.
 */
const bodies = new WeakMap<ClusterGraphSnapshot, Bodies>();

/** The whole graph as columns, compressed where the client takes it. */
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

/** As browsers say it; who is particular about qualities gets it plain. */
function takesGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? "")
    .split(",")
    .some((coding) => coding.trim().toLowerCase() === "gzip");
}
