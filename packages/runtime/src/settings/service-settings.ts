import { constant } from "./setting.ts";
import { section } from "./section.ts";
import type { Section } from "./section.ts";
import { oneOf, text } from "./texts.ts";

const table = {
  logLevel: oneOf(["debug", "info", "warn", "error"], {
    default: "info",
    description: "The least important log lines that are written.",
  }),
  logFormat: oneOf(["json", "text"], {
    default: "json",
    description: "JSON lines for machines, or one short line per event for people.",
  }),
  otlpEndpoint: text({
    default: null,
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description:
      "Base address of an OpenTelemetry receiver (OTLP over HTTP) for the service's own traces and metrics; without it none are made.",
  }),
  drainDeadlineMs: constant(10_000, "It is a bound for requests in flight at a stop."),
  shutdownDeadlineMs: constant(10_000, "It is a bound for how long each part of a service may take to stop."),
};

export const serviceSettings: Section<"service", typeof table> = section("service", table, {
  description: "What every service has, whatever it does.",
});
