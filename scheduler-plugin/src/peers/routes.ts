import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import { MAX_NAME_CHARACTERS } from "../domain/pod.ts";
import type { PeerPart } from "./create-peers.ts";
import { FORWARDED, RECORDS_PATH } from "./peers.ts";

const Text = Type.String({ maxLength: MAX_NAME_CHARACTERS, default: "" });
const QuerySchema = Type.Object({ after: Text, by: Text }, { additionalProperties: false });

const LEADER_PATHS: ReadonlySet<string> = new Set([
  "/api/v1/descheduler",
  "/api/v1/savings",
  "/api/v1/dispatch",
  "/api/v1/dispatch/replicas",
  "/api/v1/stream-jobs",
]);

/** Register before other routes. */
export function addPeerRoutes(app: HttpApp, { peers, records }: Pick<PeerPart, "peers" | "records">): void {
  app.addHook("preHandler", async (request, reply) => {
    if (request.method !== "GET" || request.headers[FORWARDED] !== undefined) return undefined;
    if (!LEADER_PATHS.has(request.url.split("?", 1)[0]!)) return undefined;
    const answer = await peers.askLeader(request.url);
    if (answer === null) return undefined;
    return reply.type(answer.contentType).header("cache-control", "no-store").send(answer.body);
  });
  app.get(RECORDS_PATH, { schema: { querystring: QuerySchema } }, (request, reply) => {
    const { after, by } = request.query;
    return reply
      .type("application/json")
      .header("cache-control", "no-store")
      .send(Buffer.from(records.page(after, by)));
  });
}
