import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../log.ts";
import { HttpError, problem, sendProblem } from "./problem.ts";
import type { FieldMistake, Problem } from "./problem.ts";
import { describeMistakes } from "./validation.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

export function installErrorHandling(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const body = toProblem(error, request);
    if (body.status >= 500 && !isAnswer(error))
      logger.error("request failed", { method: request.method, route: request.routeOptions.url, error });
    if (body.code === "overloaded" && !reply.hasHeader("retry-after")) void reply.header("retry-after", "1");
    return sendProblem(reply, body);
  });
  app.setNotFoundHandler((request, reply) => notFound(app, request, reply));
}

/** The route reports that it can't serve this now, which isn't a failure. */
function isAnswer(error: FastifyError): boolean {
  return error instanceof HttpError && error.status === 503;
}

function toProblem(error: FastifyError, request: FastifyRequest): Problem {
  if (error.validation) {
    const mistakes = describeMistakes(error.validation, error.validationContext ?? "body", request);
    const detail = mistakes.map(mistakeText).join("; ");
    return problem(400, { code: "request_invalid", detail, errors: mistakes });
  }
  if (error instanceof HttpError) {
    const { status, code, message, mistakes } = error;
    return problem(status, { code, detail: message, ...(mistakes.length > 0 ? { errors: mistakes } : {}) });
  }
  const status = error.statusCode ?? 500;
  if (error.code === "FST_ERR_HANDLER_TIMEOUT")
    return problem(503, { code: "handler_timeout", detail: "the answer took too long" });
  if (!(status >= 400 && status < 500)) return problem(500, { code: "internal" });
  return problem(status, {
    detail: error.message,
    ...(error.code ? { code: error.code.toLowerCase() } : {}),
  });
}

/** Field, rule and value. Missing and unknown fields, and headers, have no value. */
function mistakeText(mistake: FieldMistake): string {
  const got = Object.hasOwn(mistake, "value") ? `, got ${JSON.stringify(mistake.value)}` : "";
  return `${mistake.field} ${mistake.rule}${got}`;
}

// Answers 405 with Allow for a known path with another method, where fastify answers 404.
function notFound(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = request.url.split("?", 1)[0] ?? "/";
  const allowed = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  if (allowed.length === 0)
    return sendProblem(reply, problem(404, { code: "not_found", detail: "no such resource" }));
  void reply.header("allow", allowed.join(", "));
  return sendProblem(
    reply,
    problem(405, { code: "method_not_allowed", detail: `use ${allowed.join(" or ")}` }),
  );
}
