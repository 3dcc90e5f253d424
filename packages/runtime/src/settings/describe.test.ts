import { expect, test } from "vitest";
import { describeSettings } from "./describe.ts";
import { duration } from "./numbers.ts";
import { section } from "./section.ts";
import { serviceSettings } from "./service-settings.ts";
import { list, oneOf, secret, text } from "./texts.ts";
import { loadSettings } from "./load.ts";

test("a section becomes a heading, its sentence and a table", () => {
  const probe = section(
    "probe",
    {
      intervalMs: duration({ default: 500, min: 10, description: "Time between\nrounds." }),
      mode: oneOf(["a", "b"], { default: "a", description: "One | other." }),
      host: text({ description: "Where." }),
      password: secret({ default: null, description: "Hidden." }),
      names: list({ default: ["x", "y"], description: "Names." }),
    },
    { description: "How it measures." },
  );
  expect(describeSettings([probe])).toBe(
    [
      "## probe",
      "",
      "How it measures.",
      "",
      "| Setting | Environment variable | Type | Default | Meaning |",
      "| --- | --- | --- | --- | --- |",
      "| `probe.intervalMs` | `ISOCHRONE_PROBE_INTERVAL_MS` | duration (ms), at least 10 | `500` | Time between rounds. |",
      String.raw`| ${"`probe.mode`"} | ${"`ISOCHRONE_PROBE_MODE`"} | one of a, b | ${"`a`"} | One \| other. |`,
      "| `probe.host` | `ISOCHRONE_PROBE_HOST` | text | required | Where. |",
      "| `probe.password` | `ISOCHRONE_PROBE_PASSWORD` | secret text | none | Hidden. |",
      "| `probe.names` | `ISOCHRONE_PROBE_NAMES` | list of text | `x,y` | Names. |",
      "",
    ].join("\n"),
  );
});

test("the settings of every service have defaults that hold", () => {
  expect(loadSettings([serviceSettings], { env: {} }).service).toEqual({
    logLevel: "info",
    logFormat: "json",
    otlpEndpoint: null,
    drainDeadlineMs: 10_000,
    shutdownDeadlineMs: 10_000,
  });
});
