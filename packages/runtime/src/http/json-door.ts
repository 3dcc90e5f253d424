import { isNestedTooDeeply, JSON_LEVELS_RULE } from "@isochrone/primitives";
import type { FastifyInstance } from "fastify";
import { HttpError } from "./problem.ts";

export function installJsonDoor(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeContentTypeParser("application/json");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (typeof body === "string" && isNestedTooDeeply(body))
      return done(new HttpError(400, "json_too_deep", `the body ${JSON_LEVELS_RULE}`));
    return void parse(request, String(body), done);
  });
}
