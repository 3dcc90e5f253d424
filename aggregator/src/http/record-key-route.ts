import { speakerText, type ProvenSpeaker } from "@isochrone/telemetry";
import type { RecordKey, RecordKeyAnswer } from "@isochrone/bus/seal";
import { ProblemSchema } from "@isochrone/topology";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { AggregatorError } from "../ports/errors.ts";
import { contentEtag, isUnchanged } from "./etag.ts";
import { NoQuery } from "./query.ts";

export interface RecordKeyDesk {
  /** @throws AggregatorError `keys_not_read` */
  keyFor(speaker: ProvenSpeaker): RecordKey;
  speakerOf(request: FastifyRequest): ProvenSpeaker | null;
}

const NodeParams = Type.Object({ node: Type.String({ maxLength: 253 }) });
type NodeParams = Static<typeof NodeParams>;

const ServiceParams = Type.Object({ name: Type.String({ maxLength: 253 }) });
type ServiceParams = Static<typeof ServiceParams>;

const KeySchema = Type.Object(
  {
    speaker: Type.String({
      description: "node/NODE or service/NAME, as the header isochrone-speaker has it",
    }),
    keyId: Type.Integer({ minimum: 1, maximum: 65_535 }),
    key: Type.String({ description: "Secret: 32 bytes in base64url" }),
  },
  { additionalProperties: false },
);

const SCHEMA = {
  querystring: NoQuery,
  response: {
    200: KeySchema,
    304: Type.Null({ description: "The sender has this key" }),
    403: ProblemSchema,
    404: ProblemSchema,
    503: ProblemSchema,
  },
};
/** Not below /api/v1/: a reader of graphs must not get the key of its pod's node. */
const CONFIG = { reviewedPath: "/v1/record-key" };

/** @param desk null: records are not sealed */
export function registerRecordKeyRoutes(app: FastifyInstance, desk: RecordKeyDesk | null): void {
  app.get<{ Params: NodeParams }>(
    "/api/v1/record-key/:node",
    {
      config: CONFIG,
      schema: { ...SCHEMA, summary: "Key by which a node's probe and collector seal", params: NodeParams },
    },
    (request, reply) => answer(desk, { kind: "node", node: request.params.node }, request, reply),
  );
  app.get<{ Params: ServiceParams }>(
    "/api/v1/record-key/service/:name",
    {
      config: CONFIG,
      schema: { ...SCHEMA, summary: "Key by which a service seals", params: ServiceParams },
    },
    (request, reply) => answer(desk, { kind: "service", name: request.params.name }, request, reply),
  );
}

function answer(
  desk: RecordKeyDesk | null,
  asked: ProvenSpeaker,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (desk === null)
    throw new AggregatorError(
      "record_keys_off",
      "records aren't sealed here: aggregator.recordKeysSecret is not set",
    );
  const own = desk.speakerOf(request);
  if (own === null || speakerText(own) !== speakerText(asked)) {
    const whose = own === null ? "nobody" : speakerText(own);
    throw new AggregatorError(
      "not_your_key",
      `the key of ${speakerText(asked)} must be asked for by that speaker, got a token that speaks for ${whose}`,
    );
  }
  const { speaker, keyId, key } = desk.keyFor(asked);
  const body: RecordKeyAnswer = { speaker, keyId, key: key.reveal() };
  const text = JSON.stringify(body);
  const unchanged = isUnchanged(request, reply, contentEtag(text));
  // The key is secret and must not be cached.
  void reply.header("cache-control", "no-store");
  return unchanged ? reply.send() : reply.type("application/json; charset=utf-8").send(text);
}
