export { frame, request, system, viewOf } from "./system.ts";
