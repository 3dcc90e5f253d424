import { createLogger, nodeProcessHost } from "@isochrone/runtime";
import { authorizedFetch, systemClock } from "@isochrone/runtime/basics";
import { listen } from "@isochrone/runtime/http";
import { GraphClient } from "@isochrone/topology/client";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import { usageError } from "../errors.ts";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import type { Print } from "../output/show.ts";
import { createMcpHttpApp } from "./http.ts";
import { createMcpServer } from "./server.ts";

interface McpOptions extends GraphServerOptions {
  /** Port; undefined: messages use standard input. */
  readonly http?: number;
  readonly allowHost: readonly string[];
}

const TIMEOUT_MS = 10_000;
/** Loopback only: tokens must not leave the machine without TLS. */
const HOST = "127.0.0.1";

export async function mcpCommand(options: McpOptions, print: Print): Promise<void> {
  await (options.http === undefined ? serveStdio(options) : serveHttp(options, options.http, print));
}

async function serveStdio(options: McpOptions): Promise<void> {
  const { serveStdio: serve } = await import("@modelcontextprotocol/server/stdio");
  const client = graphClientOf(options);
  const factory: McpServerFactory = () => createMcpServer({ client, server: options.server });
  const gone = new Promise<void>((resolve) => process.stdin.once("close", resolve).once("end", resolve));
  const off = nodeProcessHost().onSignal(() => process.stdin.destroy());
  const handle = serve(factory, { maxSubscriptions: 0 });
  await gone;
  off();
  await handle.close();
}

async function serveHttp(options: McpOptions, port: number, print: Print): Promise<void> {
  const { server, tokenFile, caFile, allowHost } = options;
  if (tokenFile !== undefined)
    throw usageError(
      `--token-file must not be given with --http: each client sends its own token, got ${tokenFile}`,
    );
  graphClientOf(options);
  const fetch = authorizedFetch({ caFile: caFile ?? null, clock: systemClock });
  const clientFor = (authorization: string | undefined): GraphClient =>
    new GraphClient({
      baseUrl: server,
      timeoutMs: TIMEOUT_MS,
      fetch,
      headers: authorization === undefined ? {} : { authorization },
    });
  const app = await createMcpHttpApp({
    allowedHosts: allowHost,
    logger: createLogger({ service: "mcp", level: "error" }),
    clientFor,
    factory: (authorization) => () => createMcpServer({ client: clientFor(authorization), server }),
  });
  const { url } = await listen(app, { host: HOST, port, setting: "--http" });
  print(`MCP server at ${url}/mcp, graph API ${server}; Ctrl-C ends`);
  await new Promise<void>((resolve) => {
    const off = nodeProcessHost().onSignal(() => {
      off();
      resolve();
    });
  });
  await app.close();
}
