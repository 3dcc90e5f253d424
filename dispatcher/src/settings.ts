import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  constant,
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
  refreshMs: constant<number>(10_000, "Graphs are built about so often; an answer without news is small."),
  maxConnections: constant<number>(4_096, "More are closed at once: each holds memory."),
  maxInFlight: constant<number>(8_192, "Requests at once; more are answered with 503."),
  connectTimeoutMs: constant<number>(1_000, "A site that is cut off must not cost a request its deadline."),
  drainMs: constant<number>(8_000, "Requests under way are waited for, below the deadline of a part's stop."),
};

/** Settings of the dispatcher. */
export const dispatcherSettings: Section<"dispatcher", typeof table> = section("dispatcher", table, {
  description: "The dispatcher: sends requests to endpoints of annotated Services.",
  rules: [aggregatorClientRule("dispatcher")],
});

/** What a dispatcher runs with. */
export type DispatcherConfig = SettingsOf<typeof dispatcherSettings>;
