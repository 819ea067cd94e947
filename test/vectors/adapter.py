#!/usr/bin/env python3
"""A second implementation of the vector domains, independent of the package: standard library only.

Reads one JSON object a line on stdin, writes one a line on stdout. See section "adapter protocol" of the documentation.
Each domain is one function from input to output; a Failure is an error answer.
"""

import base64
import binascii
import fnmatch
import hashlib
import hmac
import json
import math
import os
import re
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import settings  # noqa: E402  (beside this file)

LARGEST = 2**53 - 1


class Failure(Exception):
    def __init__(self, code, message=""):
        super().__init__(message)
        self.code = code


def decode_base64(text):
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Failure("bad_base64", str(error))


class EventStream:
    """WHATWG HTML 9.2.6, line by line over bytes."""

    def __init__(self, limit):
        self.limit = limit
        self.started = False
        self.head = b""
        self.line = bytearray()
        self.after_cr = False
        self.size = 0
        self.frames = []
        self.last_event_id = ""
        self.reconnect = None
        self.clear()

    def clear(self):
        self.data = None
        self.event = ""
        self.id = None
        self.retry = None
        self.size = 0

    def feed(self, chunk):
        if not self.started:
            self.head += chunk
            if len(self.head) < 3 and b"\xef\xbb\xbf".startswith(self.head):
                return
            self.started = True
            chunk = self.head[3:] if self.head.startswith(b"\xef\xbb\xbf") else self.head
        for match in re.finditer(rb"[^\r\n]+|\r\n|\r|\n", chunk):
            piece = match.group()
            if piece[0] not in b"\r\n":
                self.after_cr = False
                self.grow(piece)
            elif piece == b"\n" and self.after_cr:
                self.after_cr = False
            else:
                self.after_cr = piece == b"\r"
                self.end_line()

    def grow(self, piece):
        if not self.line:
            self.line += piece[:1]
            piece = piece[1:]
        if self.line[:1] == b":":
            return
        self.line += piece
        if self.size + len(self.line) > self.limit:
            raise Failure("frame_too_large")

    def end_line(self):
        line = bytes(self.line)
        self.line = bytearray()
        if not line:
            self.dispatch(False)
        elif line[:1] != b":":
            self.size += len(line)
            self.field(line.decode("utf-8", errors="replace"))

    def field(self, line):
        name, _, value = line.partition(":")
        if value[:1] == " ":
            value = value[1:]
        if name == "data":
            if self.data is None:
                self.data = []
            self.data.append(value)
        elif name == "event":
            self.event = value
        elif name == "id":
            if "\0" not in value:
                self.id = value
        elif name == "retry":
            if re.fullmatch("[0-9]+", value):
                number = int(value)
                if number <= LARGEST:
                    self.retry = self.reconnect = number

    def dispatch(self, at_end):
        if self.data is not None or not at_end:
            if self.id is not None:
                self.last_event_id = self.id
        if self.data is not None:
            self.frames.append(
                {
                    "event": self.event or None,
                    "data": "\n".join(self.data),
                    "id": self.id,
                    "retry": self.retry,
                }
            )
        self.clear()

    def finish(self):
        before = len(self.frames)
        if self.line and self.line[:1] != b":":
            self.field(bytes(self.line).decode("utf-8", errors="replace"))
        self.dispatch(True)
        return len(self.frames) > before


def sse(value):
    feeds = []
    for chunk in value["chunks"]:
        if isinstance(chunk, str):
            feeds.append((decode_base64(chunk), 1))
        else:
            feeds.append((decode_base64(chunk["base64"]), chunk["repeat"]))
    stream = EventStream(value.get("max_frame_bytes", 33554432))
    after = []
    for data, repeat in feeds:
        for _ in range(repeat):
            stream.feed(data)
        after.append(len(stream.frames))
    flushed = stream.finish() if value.get("finish", False) else False
    frames = stream.frames
    if value.get("digest", False):
        for frame in frames:
            data = frame.pop("data").encode("utf-8")
            frame["data_bytes"] = len(data)
            frame["data_sha256"] = hashlib.sha256(data).hexdigest()
    return {
        "frames": frames,
        "last_event_id": stream.last_event_id,
        "reconnect_ms": stream.reconnect,
        "frames_after_chunk": after,
        "flushed": flushed,
    }


def milliseconds(value):
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        value = int(value)
    if isinstance(value, float) and value >= 0 and (math.isinf(value) or value.is_integer()):
        value = LARGEST if value > LARGEST else int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Failure("invalid_backoff", repr(value))
    return min(value, LARGEST)


def backoff(value):
    base = milliseconds(value.get("base_ms"))
    top = milliseconds(value.get("max_ms"))
    if "attempts" in value:
        attempts = value["attempts"]
        if isinstance(attempts, int):
            attempts = range(attempts)
    elif "ops" in value:
        attempts = []
        current = 0
        for op in value["ops"]:
            if op == "reset":
                current = 0
            else:
                attempts.append(current)
                current += 1
    else:
        raise Failure("unsupported")
    # Whole numbers have no width in Python; 64 doublings are above every cap.
    ceilings = [min(base << min(n, 64), top) for n in attempts]
    output = {"ceilings_ms": ceilings}
    if "rng" in value:
        # Fractions, not floats: floor(r * (ceiling + 1)) without any rounding.
        ratios = [float(r).as_integer_ratio() for r in value["rng"]]
        output["delays_ms"] = [
            numerator * (ceiling + 1) // denominator
            for ceiling, (numerator, denominator) in zip(ceilings, ratios)
        ]
    return output


def permission_rules(value):
    """Objects come as Pairs, so that the order of their keys is kept."""
    if isinstance(value, Pairs):
        found = [{"tool_pattern": key, "mode": mode, "reason": None} for key, mode in dict(value).items()]
    elif isinstance(value, list):
        found = []
        for rule in value:
            if not isinstance(rule, Pairs):
                raise Failure("invalid_rule", repr(rule))
            fields = dict(rule)
            found.append({
                "tool_pattern": fields.get("tool_pattern", fields.get("toolPattern")),
                "mode": fields.get("mode"),
                "reason": fields.get("reason"),
                "match": fields.get("match", []),
                "not_match": fields.get("not_match", []),
            })
    else:
        raise Failure("invalid_rule", repr(value))
    for rule in found:
        pattern = rule["tool_pattern"]
        if not isinstance(pattern, str) or rule["mode"] not in ("allow", "deny", "prompt"):
            raise Failure("invalid_rule", repr(rule))
        if rule["reason"] is not None and not isinstance(rule["reason"], str):
            raise Failure("invalid_rule", repr(rule))
        if rule.get("match") or rule.get("not_match"):
            if "(" in pattern:
                raise Failure("unsupported", "examples of a subject")
            matches = lambda name: fnmatch.fnmatchcase(name, pattern)
            if not all(map(matches, rule["match"])) or any(map(matches, rule["not_match"])):
                raise Failure("invalid_rule", repr(rule))
    return found


class Pairs(list):
    pass


def permission_json(text):
    try:
        return permission_rules(json.loads(text, object_pairs_hook=Pairs))
    except ValueError as error:
        raise Failure("invalid_rule", str(error))


def permission(value):
    name = value["tool_name"]
    subject = value.get("subject")
    if name == "bash" and subject is not None:
        raise Failure("unsupported", "command lines")

    def matches(pattern):
        if fnmatch.fnmatchcase(name, pattern):
            return True
        start = pattern.find("(")
        if subject is None or start < 0 or not pattern.endswith(")"):
            return False
        return fnmatch.fnmatchcase(name, pattern[:start]) and fnmatch.fnmatchcase(subject, pattern[start + 1:-1])

    def first(rules):
        return next((rule for rule in rules if matches(rule["tool_pattern"])), None)

    def verdict(rule):
        if rule is None:
            return {"mode": "prompt", "rule_index": None, "rule_matched": None, "reason": None, "tier": None}
        return {
            "mode": rule["mode"],
            "rule_index": rule["index"],
            "rule_matched": rule["tool_pattern"],
            "reason": rule["reason"],
            "tier": rule["tier"],
        }

    def numbered(rules, tier):
        return [{**rule, "index": index, "tier": tier} for index, rule in enumerate(rules)]

    if "tiers" not in value:
        text = value["rules_json"] if "rules_json" in value else json.dumps(value["rules"])
        return verdict(first(numbered(permission_json(text), None)))
    tiers = {tier: numbered(permission_json(text), tier) for tier, text in value["tiers"].items()}
    trusted = value.get("trusted", False)
    managed = first([rule for rule in tiers.get("managed", []) if rule["mode"] == "deny"])
    user = first(tiers.get("user", []))
    for sticky in (managed, user):
        if sticky is not None and sticky["mode"] == "deny":
            return verdict(sticky)
    below = [
        rule for tier in ("local", "project") for rule in tiers.get(tier, []) if trusted or rule["mode"] != "allow"
    ]
    return verdict(first(below + tiers.get("user", [])))


UNRESERVED = re.compile("[A-Za-z0-9._~-]{43,128}")


def challenge(verifier):
    if not UNRESERVED.fullmatch(verifier):
        raise Failure("invalid_verifier")
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return {"challenge": base64.urlsafe_b64encode(digest).decode("ascii").rstrip("="), "method": "S256"}


def authorization_code(value):
    """The checks one after the other: state, repeated parameters, issuer, error, code."""
    pairs = urllib.parse.parse_qsl(value["query"], keep_blank_values=True, errors="replace")
    given = {}
    for name, text in pairs:
        if name in ("state", "iss", "code", "error", "error_description", "error_uri"):
            given.setdefault(name, []).append(text)
    if len(given.get("state", [])) > 1:
        raise Failure("authorization_error", "state twice")
    # RFC 6749 section 3.1: without a value is as good as absent.
    first = {name: texts[0] for name, texts in given.items() if texts[0]}
    if not hmac.compare_digest(first.get("state", "").encode("utf-8"), value["state"].encode("utf-8")):
        raise Failure("state_mismatch")
    if "state" not in first:
        raise Failure("state_mismatch")
    for name, texts in given.items():
        if len(texts) > 1:
            raise Failure("authorization_error", name + " twice")
    if "issuer" in value:
        if "iss" not in first and value.get("iss_supported", False):
            raise Failure("iss_missing")
        if "iss" in first and first["iss"] != value["issuer"]:
            raise Failure("iss_mismatch")
    if "error" in first:
        raise Failure("authorization_error", first["error"])
    if "code" not in first:
        raise Failure("missing_code")
    return first["code"]


def pkce(value):
    if "verifier" in value:
        return challenge(value["verifier"])
    if "octets" in value:
        octets = decode_base64(value["octets"])
        if not 32 <= len(octets) <= 96:
            raise Failure("invalid_octets")
        verifier = base64.urlsafe_b64encode(octets).decode("ascii").rstrip("=")
        return {"verifier": verifier, **challenge(verifier)}
    if "metadata" in value:
        if "S256" not in value["metadata"].get("code_challenge_methods_supported", []):
            raise Failure("s256_unsupported")
        return {"method": "S256"}
    if "callback" in value:
        return {"code": authorization_code(value["callback"])}
    raise Failure("unsupported")


NAME_CHARACTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def normalised(part):
    # json.loads joins pairs of surrogates; one that is left is a character of its own.
    return "".join(char if char in NAME_CHARACTERS else "_" for char in part)


def canonical_name(server, tool):
    if server == "":
        raise Failure("empty_server")
    if tool == "":
        raise Failure("empty_tool")
    first = normalised(server)
    if server.startswith("claude.ai "):
        first = "_".join(piece for piece in first.split("_") if piece)
    return "mcp__" + first + "__" + normalised(tool)


def name_digest(*parts):
    text = "\0".join(parts)
    return hashlib.sha256(
        "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text).encode("utf-8")
    ).hexdigest()


def name_catalogue(tools):
    pairs = [(tool["server"], tool["tool"]) for tool in tools]
    shared = [canonical_name(*pair) for pair in pairs]
    members = {}
    for i, name in enumerate(shared):
        members.setdefault(name, []).append(i)

    def suffixed(i, digits):
        return shared[i] + "_" + name_digest(*pairs[i])[:digits]

    colliding = [i for i, name in enumerate(shared) if len(members[name]) > 1]
    names = list(shared)
    for i in colliding:
        others = set(shared) | {suffixed(k, 8) for k in colliding if name_digest(*pairs[k]) != name_digest(*pairs[i])}
        names[i] = suffixed(i, 16 if suffixed(i, 8) in others else 8)
    return {
        "names": names,
        "collisions": [{"name": name, "tools": indices} for name, indices in members.items() if len(indices) > 1],
    }


def names(value):
    if "tools" in value:
        return name_catalogue(value["tools"])
    name = canonical_name(value["server"], value["tool"])
    if "alias_limit" not in value:
        return {"name": name}
    limit = value["alias_limit"]
    if limit < 10:
        raise Failure("bad_request", "alias_limit")
    short = name if len(name) <= limit else name[: limit - 9] + "_" + name_digest(name)[:8]
    return {"name": name, "alias": short}


# compaction: HIP-301 section 5. A message is (role, tokens, calls it makes, call it answers, is a summary).

MARK = "[compacted]"


def whole(value, where):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Failure("invalid_input", where)
    return value


def truth(value, where):
    if not isinstance(value, bool):
        raise Failure("invalid_input", where)
    return value


def message_tokens(message):
    given = message.get("token_count")
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given >= 0 and math.isfinite(given):
        return given
    text = message["content"]
    if text == MARK:
        return 4
    trimmed = text.strip()
    data = trimmed[:1] in ("{", "[") and trimmed[-1:] in ("}", "]") and len(trimmed) > 1
    price = {0: 40 if data else 27, 1: 75, 2: 200}
    hundredths = sum(price[0 if ord(c) < 128 else 1 if ord(c) < 0x10000 else 2] for c in text)
    return 4 - (-hundredths // 100)


def read_messages(values):
    if not isinstance(values, list):
        raise Failure("invalid_input", "messages")
    for value in values:
        if not isinstance(value, dict) or value.get("role") not in ("system", "user", "assistant", "tool"):
            raise Failure("invalid_input", "role")
        if not isinstance(value.get("content"), str) or value.get("kind", "summary") != "summary":
            raise Failure("invalid_input", "content or kind")
        if not isinstance(value.get("tool_call_id", ""), str) or not isinstance(value.get("tool_calls", []), list):
            raise Failure("invalid_input", "calls")
        for call in value.get("tool_calls", []):
            if not isinstance(call.get("id") if isinstance(call, dict) else call, str):
                raise Failure("invalid_input", "call")
    return values


def group_list(messages):
    """Sets of indices: a message with calls and every result of one of them."""
    groups = []
    holder = {}
    for i, message in enumerate(messages):
        answers = message["role"] == "tool" or (message["role"] == "user" and "tool_call_id" in message)
        if answers:
            group = holder.get(message.get("tool_call_id"))
            if group is not None:
                group.append(i)
        elif message["role"] == "assistant" and message.get("tool_calls"):
            group = [i]
            groups.append(group)
            for call in message["tool_calls"]:
                holder[call["id"] if isinstance(call, dict) else call] = group
    return [group for group in groups if len(group) > 1]


def reserved(messages, groups, turns, first):
    starts = [
        i
        for i, message in enumerate(messages)
        if i >= first and message["role"] == "user" and "tool_call_id" not in message
    ]
    if turns > 0 and starts:
        cut = starts[-turns] if turns <= len(starts) else starts[0]
        moved = True
        while moved:
            moved = False
            for group in groups:
                if group[0] < cut <= group[-1]:
                    cut = group[0]
                    moved = True
        return set(range(cut, len(messages)))
    last = len(messages) - 1
    stay = {starts[-1]} if starts else set()
    for group in groups:
        if group[-1] == last:
            stay |= set(group)
    if not stay and last >= first and messages[last].get("kind") != "summary":
        stay = {last}
    return stay


def compaction(value):
    messages = read_messages(value.get("messages"))
    limit = value["max_tokens"]
    if limit is not None:
        limit = whole(limit, "max_tokens")
    turns = whole(value.get("reserve_recent", 3), "reserve_recent")
    inside = truth(value.get("within_turn", False), "within_turn")
    force = truth(value.get("force", False), "force")
    summary = value.get("summary", {"fails": True})
    offered = None if summary.get("fails") is True else whole(summary.get("token_count"), "summary")

    counts = [message_tokens(message) for message in messages]
    everything = list(range(len(messages)))
    before = sum(counts)

    def answer(kept, stands, at, replaced, fallback, middle):
        after = sum(4 if i in replaced else counts[i] for i in kept) + (stands or 0)
        return {
            "kept": kept,
            "summary_at": at,
            "compacted_count": middle,
            "tokens_before": before,
            "tokens_after": after,
            "tokens_saved": max(0, before - after),
            "replaced": replaced,
            "over_budget": bool(limit) and after > limit,
            "fallback": fallback,
            "unchanged": middle == 0 and not replaced,
        }

    if not limit or not (force or 10 * before > 9 * limit):
        return answer(everything, None, None, [], False, 0)
    first = 1 if messages and messages[0]["role"] == "system" else 0
    groups = group_list(messages)
    stay = reserved(messages, groups, turns, first) | set(range(first))
    middle = [i for i in everything if i not in stay]
    if len(middle) == 1 and messages[middle[0]].get("kind") == "summary":
        middle = []
    kept = [i for i in everything if i not in middle]
    size = sum(counts[i] for i in kept)
    replaced = []
    if inside:
        older = sorted(groups, key=lambda group: group[0])[:-1]
        for i in sorted(i for group in older for i in group[1:] if i in kept):
            if 10 * size <= 9 * limit:
                break
            if counts[i] > 4:
                size += 4 - counts[i]
                replaced.append(i)
    if not middle:
        return answer(kept, None, None, replaced, False, 0)
    room = min(limit - size, sum(counts[i] for i in middle))
    if offered is not None and room >= 4 and offered <= room:
        return answer(kept, offered, first, replaced, False, len(middle))
    most = min(room, max(4, limit // 10))
    # This digest says no more than that something is missing.
    return answer(kept, 4 if most >= 4 else None, first if most >= 4 else None, replaced, True, len(middle))


def config(value):
    return settings.config(value, decode_base64)


DOMAINS = {"permission": permission, "sse": sse, "names": names, "backoff": backoff, "pkce": pkce, "compaction": compaction, "config": config}


def answer(line):
    try:
        request = json.loads(line)
        name = request["id"]
        domain = request["domain"]
        value = request["input"]
    except (ValueError, TypeError, KeyError):
        return {"id": None, "error": {"code": "bad_request", "message": "not a request"}}
    if domain not in DOMAINS:
        return {"id": name, "error": {"code": "unsupported", "message": domain}}
    try:
        return {"id": name, "output": DOMAINS[domain](value)}
    except Failure as failure:
        return {"id": name, "error": {"code": failure.code, "message": str(failure)}}
    except (TypeError, KeyError, AttributeError) as error:
        return {"id": name, "error": {"code": "bad_request", "message": repr(error)}}


def main():
    # int() of a long string of digits has a limit that is none of the domain's.
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(line)).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
