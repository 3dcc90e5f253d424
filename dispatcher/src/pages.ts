import type { Logger } from "@isochrone/runtime";
import { createHttpApp, isLoopback, type HttpApp } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { DecisionLog } from "./decision-log.ts";

const BODY_LIMIT_BYTES = 1024;
const DEFAULT_RECORDS = 50;

interface PagesDeps {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly log: DecisionLog;
  readonly ready: () => { readonly ready: boolean; readonly reasons: readonly string[] };
}

/** Health, metrics and decision log. The log names Services and pods, so it is local to the pod. */
export async function createPages({ log, ...deps }: PagesDeps): Promise<HttpApp> {
  const app = await createHttpApp({
    ...deps,
    hasSchemas: false,
    name: "dispatcher",
    bodyLimitBytes: BODY_LIMIT_BYTES,
  });
  app.get("/api/v1/dispatch-decisions", (request, reply) => {
    if (!isLoopback(request.ip))
      return reply.code(403).send({ title: "only for connections from the pod itself", status: 403 });
    const query = new URL(request.url, "http://localhost").searchParams;
    const limit = Number(query.get("limit") ?? DEFAULT_RECORDS);
    const decisions = log.list(
      query.get("service"),
      Number.isInteger(limit) && limit > 0 ? limit : DEFAULT_RECORDS,
    );
    return reply.send({ decisions });
  });
  return app;
}
