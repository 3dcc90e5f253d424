// The MCP server over streamable HTTP. Each client uses its own token, so the graph API decides what it may
// read.
import { createMcpHandler, type McpServerFactory } from "@modelcontextprotocol/server";
import { createHttpApp, type GateAnswer, type GateRequest, type RequestGate } from "@isochrone/runtime/http";
import { createRegistry, type Logger } from "@isochrone/runtime";
import type { IncomingHttpHeaders } from "node:http";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";

const BODY_LIMIT_BYTES = 256 * 1024;
const MAX_CONCURRENT_REQUESTS = 32;

interface McpHttpOptions {
  readonly allowedHosts: readonly string[];
  readonly logger: Logger;
  readonly factory: (authorization: string | undefined) => McpServerFactory;
  readonly clientFor: (authorization: string | undefined) => GraphClient;
}

export async function createMcpHttpApp({ allowedHosts, logger, factory, clientFor }: McpHttpOptions) {
  const app = await createHttpApp({
    name: "mcp",
    logger,
    registry: createRegistry(),
    bodyLimitBytes: BODY_LIMIT_BYTES,
    maxConcurrentRequests: MAX_CONCURRENT_REQUESTS,
    ready: () => ({ ready: true, reasons: [] }),
    hasSchemas: false,
    allowedHosts: { hosts: allowedHosts, setting: "--allow-host" },
    gate: tokenGate(clientFor),
  });
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      // No subscriptions: tools do not change during a session.
      const handler = createMcpHandler(factory(request.headers.authorization), { maxSubscriptions: 0 });
      const { body } = request;
      const parsed = body === undefined ? {} : { parsedBody: body };
      const response = await handler.fetch(webRequest(request), parsed);
      for (const [name, value] of response.headers) void reply.header(name, value);
      return reply.code(response.status).send(Buffer.from(await response.arrayBuffer()));
    },
  });
  return app;
}

interface Asked {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** Any address: our own check ran before, and the SDK ignores it. */
function webRequest({ method, headers, body }: Asked): Request {
  const web = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) web.set(name, [value].flat().join(", "));
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  return new Request("http://localhost/mcp", { method, headers: web, ...text });
}

const UNAUTHORIZED = 401;

/** Checks the token with the graph API, for an HTTP status. If the API is away, the tool reports it. */
function tokenGate(clientFor: McpHttpOptions["clientFor"]): RequestGate {
  return {
    check: async ({ authorization }: GateRequest): Promise<GateAnswer> => {
      try {
        await clientFor(authorization).health();
        return null;
      } catch (error) {
        if (!(error instanceof GraphClientError) || error.status !== UNAUTHORIZED) return null;
        return {
          status: UNAUTHORIZED,
          code: "unauthenticated",
          detail: `the bearer token must be one that the graph API accepts, got ${authorization === undefined ? "none" : "another"}`,
          headers: { "www-authenticate": 'Bearer realm="isochrone"' },
        };
      }
    },
  };
}
