// Bodies are read into memory before anybody can tell what is in them. One large request is whole node objects of a large cluster; hundreds
// at once are a mistake, or an attack.
import { problem, sendProblem } from "@isochrone/runtime/http";
import type { HttpApp } from "@isochrone/runtime/http";

/** Bodies up to this are what names of nodes take, and aren't counted. */
const SMALL_BYTES = 2 * 1024 * 1024;
/** Largest bodies that may be read at once: a kube-scheduler asks one question after the other, and two replicas of it may overlap. */
const LARGEST_AT_ONCE = 2;

/** Refuses bodies with 503 and Retry-After while others of `LARGEST_AT_ONCE` times the limit are being worked on. A body of unstated length counts as the largest. */
export function limitLargeBodies(scope: HttpApp, maxBodyBytes: number, onRefused: () => void): void {
  const budget = LARGEST_AT_ONCE * maxBodyBytes;
  let underWay = 0;
  scope.addHook("onRequest", async (request, reply) => {
    const stated = request.headers["content-length"];
    const bytes = stated === undefined ? maxBodyBytes : Number(stated);
    // Beyond the limit fastify refuses it by its header, before any of it is read.
    if (bytes <= SMALL_BYTES || bytes > maxBodyBytes) return undefined;
    if (underWay + bytes > budget) {
      onRefused();
      void reply.header("retry-after", "1");
      return sendProblem(
        reply,
        problem(503, { code: "overloaded", detail: "too many large requests are under way" }),
      );
    }
    underWay += bytes;
    reply.raw.once("close", () => (underWay -= bytes));
    return undefined;
  });
}
