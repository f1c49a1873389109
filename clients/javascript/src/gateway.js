/** The gateway over HTTP: collections out, batches in. */

import { toHex } from "./bytes.js";
import { Collection } from "./collection.js";
import { CollectionError, GatewayError, ParameterError } from "./errors.js";

/** Seconds before a request is made again which may be taken later; then twice as many, and so on. */
const FIRST_PAUSE_SECONDS = 1;

/** Seconds for a request and all that are made again of it: a gateway may be restarted in so many. */
const PATIENCE_SECONDS = 120;

/**
 * Seconds for one request: longer than a gateway waits for its brokers, which is 10. Otherwise a gateway that takes a
 * connection and never answers would be waited for without end.
 */
const TIMEOUT_SECONDS = 30;

/** Longest of all these, in seconds, a day: beyond some weeks, the clocks of browsers take a time for none. */
const LONGEST_SECONDS = 86_400;

/** Longest pause, in seconds, before a request is made again: the user of a page may not wait for longer. */
const MAX_PAUSE_SECONDS = 30;

/** Most characters of an answer, many times as many as of the largest collection: it is in memory as a whole. */
const MAX_ANSWER = 2 ** 24;

/** The type of a batch: browsers let a page send it only to a gateway that allows the page to. */
const BATCH_TYPE = "application/vnd.sldp.batch;v=1";

/** A gateway, by its address. */
export class Gateway {
  #url;
  #token;
  #timeout;
  #mostPause;
  #patience;
  #fetch;
  #pause;

  /**
   * @param {string} url such as https://reports.example
   * @param {object} [options]
   * @param {string} [options.token] bearer token, if the gateway asks for one
   * @param {number} [options.timeout] seconds after which a request that is not answered is given up
   * @param {number} [options.mostPause] seconds that a request may wait to be made again: where the gateway asks for
   *   more, there is an error at once
   * @param {number} [options.patience] seconds from a request until it is no longer made again
   * @param {typeof fetch} [options.fetch]
   * @param {(seconds: number) => Promise<void>} [options.pause]
   * @throws {ParameterError} url is no address, or a time is no number of seconds, or longer than a day
   */
  constructor(
    url,
    {
      token,
      timeout = TIMEOUT_SECONDS,
      mostPause = MAX_PAUSE_SECONDS,
      patience = PATIENCE_SECONDS,
      fetch = (...request) => globalThis.fetch(...request),
      pause = sleep,
    } = {},
  ) {
    for (const [name, seconds] of Object.entries({ timeout, mostPause, patience }))
      if (!(typeof seconds === "number" && seconds >= 0 && seconds <= LONGEST_SECONDS))
        throw new ParameterError(`${name} must be a number of seconds, at most ${LONGEST_SECONDS}`);
    if (timeout === 0) throw new ParameterError("timeout must be more than 0 seconds");
    this.#url = addressOf(url);
    this.#token = token;
    this.#timeout = timeout;
    this.#mostPause = mostPause;
    this.#patience = patience;
    this.#fetch = fetch;
    this.#pause = pause;
  }

  /**
   * Read a collection.
   *
   * @param {string} name
   * @returns {Promise<Collection>}
   * @throws {CollectionError} it is of a kind that this client does not speak, or something in it is wrong
   * @throws {GatewayError} the gateway does not have it, or does not answer
   */
  async collection(name) {
    const document = await this.#ask("GET", pathOf(name, "document"));
    // As text: what a parser makes of 24.0 would have another fingerprint.
    return Collection.of(document, { meaning: () => this.#ask("GET", pathOf(name, "meaning"), { isText: true }) });
  }

  /**
   * Return what the service asks users of item sets now, and asked lately. A collection trusts none of it.
   *
   * @param {string} name of the collection
   * @returns {Promise<object[]>}
   * @throws {GatewayError} it does not answer
   */
  async rounds(name) {
    const path = pathOf(name, "rounds");
    const { rounds } = await this.#ask("GET", path);
    if (!Array.isArray(rounds)) throw this.#noGateway(path);
    return rounds;
  }

  /**
   * Check that the gateway has this very collection: otherwise no report would count, and the user would spend for
   * nothing.
   *
   * @param {Collection} collection
   * @throws {CollectionError} it has another one of this name, or none
   * @throws {GatewayError} it does not answer
   */
  async check(collection) {
    const { collections } = await this.#ask("GET", "/v1/collections");
    if (!Array.isArray(collections)) throw this.#noGateway("/v1/collections");
    const known = collections.find((each) => each?.name === collection.name);
    const own = toHex(collection.fingerprint);
    if (known?.fingerprint !== own) {
      const found = known === undefined ? "no such collection" : `one with the fingerprint ${known.fingerprint}`;
      throw new CollectionError(
        `collection "${collection.name}" has the fingerprint ${own}, but the gateway has ${found}`,
      );
    }
  }

  /**
   * Send a batch, again and as the same bytes while the gateway cannot take it.
   *
   * @param {string} name of the collection
   * @param {Uint8Array} batch
   * @returns {Promise<number>} number of reports that the brokers have
   * @throws {GatewayError} with the gateway's reason, and with the batch
   */
  async send(name, batch) {
    const path = pathOf(name, "batches");
    const { reports } = await this.#ask("POST", path, { batch });
    if (!Number.isSafeInteger(reports)) throw this.#noGateway(path, batch);
    return reports;
  }

  #noGateway(path, batch) {
    const detail = `${this.#url}${path} does not answer as a gateway does`;
    return new GatewayError({ reason: "no_gateway", detail, batch });
  }

  async #ask(method, path, what = {}) {
    let passed = 0;
    for (let next = FIRST_PAUSE_SECONDS; ; next *= 2) {
      const begun = performance.now();
      try {
        return await this.#askOnce(method, path, what);
      } catch (error) {
        passed += (performance.now() - begun) / 1000;
        if (!(error instanceof GatewayError && error.passes)) throw error;
        const pause = error.retryAfter ?? Math.min(next, this.#mostPause);
        passed += pause;
        if (pause > this.#mostPause || passed > this.#patience) throw error;
        await this.#pause(pause);
      }
    }
  }

  async #askOnce(method, path, { batch, isText }) {
    const headers = this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` };
    if (batch !== undefined) headers["Content-Type"] = BATCH_TYPE;
    let response, answer;
    try {
      // Neither cookies nor the page's address: they would tell the gateway more than the report does.
      const quiet = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
      // In whole milliseconds: Node refuses others, which would pass for a gateway that does not answer.
      const signal = AbortSignal.timeout(Math.ceil(1000 * this.#timeout));
      response = await this.#fetch(this.#url + path, { method, headers, body: batch, signal, ...quiet });
      answer = await textOf(response);
    } catch (cause) {
      const why = cause?.name === "TimeoutError" ? ` within ${this.#timeout} s` : forOtherOrigins(this.#url);
      throw new GatewayError({ reason: "unreachable", detail: `${this.#url} does not answer${why}`, batch, cause });
    }
    if (response.ok && isText && answer !== undefined) return answer;
    const found = jsonOf(answer);
    if (response.ok && found !== undefined) return found;
    throw new GatewayError({
      reason: found?.reason ?? "no_gateway",
      detail: found?.detail ?? `${this.#url}${path} answers with status ${response.status}, and not as a gateway does`,
      status: response.status,
      retryAfter: pauseOf(response.headers.get("Retry-After")),
      batch,
    });
  }
}

const pathOf = (name, part) => `/v1/collections/${encodeURIComponent(name)}/${part}`;

/** Return an address without the slashes at its end. */
function addressOf(url) {
  if (typeof url !== "string" || !/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    const shown = typeof url === "string" ? `"${url}"` : typeof url;
    throw new ParameterError(`${shown} is not the address of a gateway, such as https://reports.example`);
  }
  return url.replace(/\/+$/, "");
}

/** Say what else may be wrong in a page: a browser tells a refusal to its origin from no answer for nobody to read. */
function forOtherOrigins(url) {
  const origin = globalThis.location?.origin;
  if (origin === undefined || origin === new URL(url).origin) return "";
  return `, or not to pages of ${origin}: start the gateway with --origin ${origin}`;
}

/** Return the seconds of a Retry-After, or undefined where it has no number of them that would spare the gateway. */
function pauseOf(header) {
  const seconds = Number(header);
  return seconds >= 1 ? seconds : undefined;
}

/** Return the text of an answer, or undefined where it has no end; what is left of it is not read. */
async function textOf(response) {
  const [reader, decoder] = [response.body?.getReader(), new TextDecoder()];
  let text = "";
  while (text.length <= MAX_ANSWER) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return undefined;
}

function jsonOf(text) {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
