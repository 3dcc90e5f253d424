import type { FastifyInstance } from "fastify";
import { ProblemSchema } from "@isochrone/topology";
import { Type } from "typebox";

export interface DecisionsSource {
  fetch(pathAndQuery: string, signal: AbortSignal): Promise<DecisionsAnswer>;
}

export interface DecisionsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** Proxies the scheduler-plugin, so that the page needs one address. */
export function registerDecisionsRoutes(app: FastifyInstance, source: DecisionsSource): void {
  for (const path of ["/api/v1/decisions", "/api/v1/acts", "/api/v1/plans", "/api/v1/savings"]) {
    app.get<{ Reply: unknown }>(
      path,
      {
        schema: {
          summary: "Passed through from the scheduler-plugin, whose document describes it",
          response: { 200: Type.Unknown(), 502: ProblemSchema, 503: ProblemSchema },
        },
      },
      async (request, reply) => {
        const gone = new AbortController();
        reply.raw.once("close", () => gone.abort());
        const query = request.url.indexOf("?");
        const { status, contentType, body } = await source.fetch(
          path + (query < 0 ? "" : request.url.slice(query)),
          gone.signal,
        );
        return reply.code(status).type(contentType).header("cache-control", "no-store").send(body);
      },
    );
  }
}
