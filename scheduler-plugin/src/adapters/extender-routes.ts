// kube-scheduler's extender API: POST {prefix}/filter and {prefix}/prioritize.
import type { Clock } from "@isochrone/runtime";
import { HttpError } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";
import { reasonOf, parseJson } from "@isochrone/primitives";
import { filterAnswer, readExtenderArgs } from "../domain/extender-wire.ts";
import type { ExtenderArgs } from "../domain/extender-wire.ts";
import type { Outcome, Placer, Times } from "../domain/placer.ts";
import { ExtenderArgsError } from "../ports/errors.ts";
import type { SchedulerMetrics } from "./metrics.ts";

interface ExtenderRoutesOptions {
  readonly prefix: string;
  readonly placer: Placer;
  readonly clock: Clock;
  readonly metrics: SchedulerMetrics;
}

type Verb = "filter" | "prioritize";

/** Registers the routes in their own scope, because they need another body parser. */
export function addExtenderRoutes(app: HttpApp, options: ExtenderRoutesOptions): void {
  const { prefix, placer, clock, metrics } = options;
  // Loads when the app becomes ready; a load failure surfaces there.
  void app.register((scope, _, done) => {
    scope.removeAllContentTypeParsers();
    // The route parses the text once, for any content type. Parsed objects are never merged into others, so
    // "__proto__" is only a name. Fastify finds kube-scheduler's own type at once; "*" covers other clients.
    scope.addContentTypeParser(["application/json", "*"], { parseAs: "string" }, (_request, body, parsed) =>
      parsed(null, body),
    );
    const handle = (
      verb: Verb,
      answer: (args: ExtenderArgs, times: Times) => { outcome: Outcome; json: string | Uint8Array },
    ): void => {
      scope.post(`${prefix}/${verb}`, { config: { answersAtOnce: true } }, (request, reply) => {
        const startMs = clock.monotonic();
        try {
          const { outcome, json } = answer(readExtenderArgs(parse(request.body)), {
            nowMs: clock.now(),
            monotonicMs: startMs,
          });
          metrics.requests.inc({ verb, outcome });
          metrics.requestSeconds.observe({ verb }, (clock.monotonic() - startMs) / 1000);
          return reply
            .header("content-type", "application/json; charset=utf-8")
            .send(
              typeof json === "string" ? json : Buffer.from(json.buffer, json.byteOffset, json.byteLength),
            );
        } catch (error) {
          if (!(error instanceof ExtenderArgsError)) throw error;
          metrics.requests.inc({ verb, outcome: "malformed" });
          throw new HttpError(400, error.code, error.message, { cause: error });
        }
      });
    };
    handle("filter", (args, times) => {
      const { outcome, failed } = placer.filter(args, times);
      if (failed.size > 0) metrics.rejectedNodes.inc(failed.size);
      return { outcome, json: filterAnswer(args, failed) };
    });
    handle("prioritize", (args, times) => {
      const { outcome, answer } = placer.prioritize(args, times);
      return { outcome, json: answer };
    });
    done();
  });
}

function parse(body: unknown): unknown {
  if (typeof body !== "string") throw new ExtenderArgsError("the body must be JSON, got nothing");
  try {
    return parseJson(body);
  } catch (error) {
    throw new ExtenderArgsError(`the body must be JSON: ${reasonOf(error)}`);
  }
}
