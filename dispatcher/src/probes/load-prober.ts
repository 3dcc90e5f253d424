// Probes the load of a few endpoints per request, like Prequal, because endpoints without recent requests
// haven't reported any.
import type { Draw } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime";
import { get, type IncomingMessage } from "node:http";
import { LOAD_HEADER, readLoadHeader, readLoadJson } from "../domain/load-report.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { Upstreams } from "../proxy/upstreams.ts";
import type { Endpoint } from "../services/endpoint.ts";

const AT_A_TIME = 2;
const FRESH_MS = 250;
const TIMEOUT_MS = 500;
const MAX_UNDER_WAY = 64;
const MAX_BODY_BYTES = 4_096;

interface ProberDeps {
  readonly upstreams: Upstreams;
  readonly metrics: DispatcherMetrics;
  readonly clock: Clock;
  readonly draw: Draw;
}

export class LoadProber {
  readonly #deps: ProberDeps;
  #underWay = 0;

  constructor(deps: ProberDeps) {
    this.#deps = deps;
  }

  ask(endpoints: readonly Endpoint[], path: string): void {
    const { clock, draw } = this.#deps;
    const freshMs = clock.monotonic() - FRESH_MS;
    for (let each = 0; each < Math.min(AT_A_TIME, endpoints.length); each++) {
      const endpoint = endpoints[Math.floor(draw() * endpoints.length)]!;
      if (endpoint.isProbed || endpoint.load.reportedAtMs > freshMs || this.#underWay >= MAX_UNDER_WAY)
        continue;
      this.#probe(endpoint, path);
    }
  }

  #probe(endpoint: Endpoint, path: string): void {
    const { upstreams, metrics } = this.#deps;
    const { address, port } = endpoint.where;
    endpoint.isProbed = true;
    this.#underWay++;
    const request = get({ agent: upstreams.agentOf(endpoint), host: address, port, path });
    // Limits the whole response: a trickling one would block its place.
    const timer = setTimeout(() => request.destroy(new Error("no answer in time")), TIMEOUT_MS);
    timer.unref();
    request.on("error", () => undefined);
    let isAnswered = false;
    request.once("response", (response) => {
      isAnswered = true;
      this.#read(response, endpoint);
    });
    request.once("close", () => {
      clearTimeout(timer);
      endpoint.isProbed = false;
      this.#underWay--;
      if (!isAnswered) metrics.probed("failed");
    });
  }

  #read(response: IncomingMessage, endpoint: Endpoint): void {
    const { metrics, clock } = this.#deps;
    const header = response.headers[LOAD_HEADER];
    let text = "";
    response.setEncoding("utf8");
    response.on("error", () => undefined);
    response.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MAX_BODY_BYTES) response.destroy();
    });
    response.once("close", () => {
      if (!response.complete || response.statusCode !== 200) return metrics.probed("failed");
      const report = typeof header === "string" ? readLoadHeader(header) : readLoadJson(text);
      metrics.probed(report === null ? "malformed" : "taken");
      if (report !== null && !endpoint.isGone) endpoint.load.reported(report, clock.monotonic());
      return undefined;
    });
  }
}
