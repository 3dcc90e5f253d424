import { StoreError } from "../../store/errors.ts";
import type { StoreErrorCode } from "../../store/errors.ts";
import { looseFields, looseList } from "@isochrone/primitives";

/** A Status object of the API server, as far as it is understood. */
interface ApiStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** A version was asked for that the server hasn't reached: it was restored from a backup. */
  readonly isAhead: boolean;
}

/** Reason of a cause in a Status: the version that was asked for lies ahead of the server's. */
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
/** Messages list every fault of an object: enough of them. */
const MAX_MESSAGE = 1_000;

/** What the body of an answer says; whatever isn't a Status is shown as text. */
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

/** `act` says verb, kind and name: "patch Pod default/web". */
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
