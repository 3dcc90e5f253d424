import { bytes, duration, integer, oneOf, ratio, section, text } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";
import { COMBINATION_MODES, STRATEGIES } from "@isochrone/placement";

const table = {
  host: text({
    default: "127.0.0.1",
    description: "Address that the extender and the decisions API listen on.",
  }),
  port: integer({
    default: 8081,
    min: 0,
    max: 65_535,
    description: "Port of the extender; 0 takes any free one.",
  }),
  urlPrefix: text({
    default: "/scheduler",
    pattern: /(\/[\w.~-]+)*/,
    minLength: 0,
    patternRule: "must be empty or a path such as /scheduler, without a slash at its end",
    description:
      "Path in front of the verbs, as urlPrefix in kube-scheduler's extender configuration says it.",
  }),
  graphUrl: text({
    default: "http://127.0.0.1:8080",
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description: "Address of the graph API.",
  }),
  refreshMs: duration({
    default: 1_000,
    min: 50,
    max: 600_000,
    description: "Pause between two looks at the graphs.",
  }),
  requestTimeoutMs: duration({
    default: 5_000,
    min: 50,
    max: 600_000,
    description: "Limit of one request to the graph API.",
  }),
  strategy: oneOf(STRATEGIES, { default: "resource-network", description: "How nodes are scored." }),
  mode: oneOf(COMBINATION_MODES, {
    default: "normalized",
    description:
      "How the parts of a score are combined: the paper's own sum (raw), or each part brought to 0..1 first.",
  }),
  alpha: ratio({ default: 0.5, description: "Weight of CPU in the resource part; alpha + beta = 1." }),
  beta: ratio({ default: 0.5, description: "Weight of memory in the resource part." }),
  gamma: ratio({ default: 0.5, description: "Weight of the resource part; gamma + delta = 1." }),
  delta: ratio({ default: 0.5, description: "Weight of the network part." }),
  ledgerMs: duration({
    default: 60_000,
    min: 0,
    max: 3_600_000,
    description:
      "How long a decision counts as placed while the graphs don't show it, so that a burst of pods doesn't herd.",
  }),
  maxBodyBytes: bytes({
    default: 64 * 1024 * 1024,
    min: 1_024,
    max: 1024 * 1024 * 1024,
    description:
      "Largest request. Names of 5,000 nodes are 0.2 MB; whole node objects (no nodeCacheCapable) some 60 MB.",
  }),
  keptDecisions: integer({
    default: 500,
    min: 1,
    max: 100_000,
    description: "Decisions that the API remembers.",
  }),
};

/** Settings of the scheduler-plugin. */
export const schedulerPluginSettings: Section<"scheduler", typeof table> = section("scheduler", table, {
  description: "Scores nodes for kube-scheduler and explains every decision.",
  rules: [
    ({ alpha, beta }) => sumRule("alpha", alpha, "beta", beta),
    ({ gamma, delta }) => sumRule("gamma", gamma, "delta", delta),
  ],
});

/** Values of {@link schedulerPluginSettings}. */
export type SchedulerPluginConfig = SettingsOf<typeof schedulerPluginSettings>;

function sumRule(a: string, first: number, b: string, second: number): string | null {
  return Math.abs(first + second - 1) < 1e-9 ? null : `${a} + ${b} must be 1, got ${first} + ${second}`;
}
