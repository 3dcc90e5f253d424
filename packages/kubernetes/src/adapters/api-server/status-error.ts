import { StoreError } from "../../store/errors.ts";
import type { StoreErrorCode } from "../../store/errors.ts";
import { looseFields, looseList } from "@isochrone/primitives";

interface ApiStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Whether the requested version is ahead of the server's, which a backup can cause. */
  readonly isAhead: boolean;
}

const TOO_LARGE = "ResourceVersionTooLarge";

const CODES: Readonly<Record<number, StoreErrorCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "invalid",
  406: "invalid",
  409: "conflict",
  410: "expired",
  413: "invalid",
  415: "invalid",
  422: "invalid",
  429: "too_many_requests",
  504: "timeout",
};
const MAX_MESSAGE = 1_000;

export function statusOf(httpCode: number, body: unknown): ApiStatus {
  const { kind, code, reason, message, details } = looseFields(body);
  if (kind === "Status") {
    return {
      code: typeof code === "number" ? code : httpCode,
      reason: typeof reason === "string" ? reason : "",
      message: typeof message === "string" ? message.slice(0, MAX_MESSAGE) : "",
      isAhead: looseList(looseFields(details).causes).some(
        (cause) => looseFields(cause).reason === TOO_LARGE,
      ),
    };
  }
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  return { code: httpCode, reason: "", message: text.trim().slice(0, MAX_MESSAGE), isAhead: false };
}

/** @param act verb, kind and name, such as "patch Pod default/web" */
export function errorOfStatus(act: string, status: ApiStatus): StoreError {
  const { code, message } = status;
  return new StoreError(
    storeCodeOf(status),
    `${act}: the API server answered ${code}: ${message || "no reason"}`,
  );
}

function storeCodeOf({ code, reason, isAhead }: ApiStatus): StoreErrorCode {
  if (code === 409 && reason === "AlreadyExists") return "already_exists";
  if (reason === "Expired" || reason === "Gone" || isAhead) return "expired";
  if (reason === "Timeout") return "timeout";
  return CODES[code] ?? (code >= 500 ? "unavailable" : "invalid");
}
