import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  integer,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";

const table = {
  node: text({
    default: null,
    description:
      "Name of the Kubernetes node that the dispatcher runs on: round trips count from it. Without it all endpoints are equally near.",
  }),
  policy: text({
    default: "deadline",
    pattern: /deadline|least-request|learned(?::\S+)?/,
    patternRule: "must be deadline, least-request, learned, or learned: with the path of a weights file",
    description:
      "How endpoints are chosen. deadline: the one that is most probably in time, near ones first. least-request: of two at random, the one with fewer requests. learned: by a net, with the weights that come with it, or of a file: learned:/path/weights.json.",
  }),
  host: text({ default: "0.0.0.0", description: "Address to listen on." }),
  port: integer({
    default: 7417,
    min: 0,
    max: 65_535,
    description: "Port for requests, HTTP/1.1 and HTTP/2 without TLS; 0 = any.",
  }),
  httpPort: integer({
    default: 7416,
    min: 0,
    max: 65_535,
    description: "Port of /healthz, /readyz, /metrics and, for the pod itself, the decision log; 0 = none.",
  }),
  ...AGGREGATOR_CLIENT_SETTINGS,
};

/** Settings of the dispatcher. */
export const dispatcherSettings: Section<"dispatcher", typeof table> = section("dispatcher", table, {
  description: "The dispatcher: sends requests to endpoints of annotated Services.",
  retired: ["connectTimeoutMs", "drainMs", "maxConnections", "maxInFlight", "refreshMs"],
  rules: [aggregatorClientRule("dispatcher")],
});

export interface DispatcherConfig extends SettingsOf<typeof dispatcherSettings> {
  /** Milliseconds between reads of the graph. @default 10000 */
  readonly refreshMs?: number;
  /** Open connections; more are closed. @default 4096 */
  readonly maxConnections?: number;
  /** Requests under way; more are answered with 503. @default 8192 */
  readonly maxInFlight?: number;
  /** Milliseconds until an endpoint that does not connect counts as failed. @default 1000 */
  readonly connectTimeoutMs?: number;
  /** Milliseconds that a stop waits for requests under way. @default 8000 */
  readonly drainMs?: number;
}
