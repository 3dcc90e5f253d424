// kube-scheduler's side: POST {prefix}/filter and {prefix}/prioritize.
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

/** Adds the routes in a scope of their own: their body parser is not that of the rest of the API. */
export function addExtenderRoutes(app: HttpApp, options: ExtenderRoutesOptions): void {
  const { prefix, placer, clock, metrics } = options;
  // Loaded when the app becomes ready; a failure to load surfaces there.
  void app.register((scope, _, done) => {
    scope.removeAllContentTypeParsers();
    // The text is parsed once, in the route, and whatever content type a client names. Nothing merges the
    // parsed objects into others, so a "__proto__" in them is only a name. kube-scheduler's own type by name,
    // which fastify finds at once; "*" for everybody else.
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
