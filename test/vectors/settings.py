"""The domain `config` for adapter.py: settings of several tiers, read and merged as section 4 of the documentation says.

Standard library only, and independent of the package: the shape of the settings stands here once more, by hand.
"""

import re

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
FILES = ("managed", "user", "project", "local")
LAYERS = ("user", "project", "local", "env", "flag")
CHECKOUT = ("project", "local")


# --- JSON with comments and trailing commas, with the place of everything -------------------------------------------


class Syntax(Exception):
    def __init__(self, offset):
        super().__init__(offset)
        self.offset = offset


class Node:
    """`kind` is object, array, text, number, bool or null; members of an object are (key, offset of the key, node)."""

    def __init__(self, kind, value, offset):
        self.kind = kind
        self.value = value
        self.offset = offset


class Reader:
    ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

    def __init__(self, text):
        self.text = text
        self.at = 0

    def skip(self):
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r\n":
                self.at += 1
            elif self.text.startswith("//", self.at):
                while self.at < len(self.text) and self.text[self.at] not in "\r\n":
                    self.at += 1
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise Syntax(self.at)
                self.at = end + 2
            else:
                return

    def peek(self):
        self.skip()
        return self.text[self.at] if self.at < len(self.text) else ""

    def document(self):
        if self.peek() == "":
            return None
        node = self.value()
        if self.peek() != "":
            raise Syntax(self.at)
        return node

    def sequence(self, closing, item):
        self.at += 1
        while self.peek() != closing:
            item()
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != closing:
                raise Syntax(self.at)
        self.at += 1

    def value(self):
        char = self.peek()
        start = self.at
        if char == "{":
            members = []

            def member():
                if self.peek() != '"':
                    raise Syntax(self.at)
                place = self.at
                key = self.string()
                if self.peek() != ":":
                    raise Syntax(self.at)
                self.at += 1
                members.append((key, place, self.value()))

            self.sequence("}", member)
            return Node("object", members, start)
        if char == "[":
            items = []
            self.sequence("]", lambda: items.append(self.value()))
            return Node("array", items, start)
        if char == '"':
            return Node("text", self.string(), start)
        for word, kind, value in (("true", "bool", True), ("false", "bool", False), ("null", "null", None)):
            if self.text.startswith(word, start):
                self.at += len(word)
                return Node(kind, value, start)
        return Node("number", self.number(), start)

    def number(self):
        found = NUMBER.match(self.text, self.at)
        if not found:
            raise Syntax(self.at)
        self.at = found.end()
        whole = found.group(1) is None and found.group(2) is None
        return int(found.group()) if whole else float(found.group())

    def string(self):
        parts = []
        self.at += 1
        while True:
            char = self.text[self.at:self.at + 1]
            if char == "" or char < " ":
                raise Syntax(self.at)
            self.at += 1
            if char == '"':
                return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if char != "\\":
                parts.append(char)
                continue
            escape = self.text[self.at:self.at + 1]
            self.at += 1
            if escape == "u":
                parts.append(chr(int(self.text[self.at:self.at + 4], 16)))
                self.at += 4
            elif escape in self.ESCAPES:
                parts.append(self.ESCAPES[escape])
            else:
                raise Syntax(self.at - 1)


def from_value(value):
    if isinstance(value, dict):
        return Node("object", [(key, None, from_value(member)) for key, member in value.items()], None)
    if isinstance(value, list):
        return Node("array", [from_value(member) for member in value], None)
    kinds = ((bool, "bool"), (str, "text"), ((int, float), "number"), (type(None), "null"))
    return Node(next(kind for types, kind in kinds if isinstance(value, types)), value, None)


# --- the shape --------------------------------------------------------------------------------------------------------


def integer(least, most=float("inf")):
    return ("number", lambda n: not isinstance(n, bool) and float(n).is_integer() and least <= n <= most)


COUNT, POSITIVE = integer(0), integer(1)
AMOUNT = ("number", lambda n: n >= 0)
TEXT = ("text", lambda text: True)
NAME = ("text", lambda text: text != "")
LINE = ("text", lambda text: text.strip() != "")
BOOL = ("bool", lambda value: True)


def choice(*words):
    return ("text", lambda text: text in words)


def listing(spec, least=0):
    return ("array", spec, least)


def mapping(spec):
    return ("map", spec)


def record(needs=(), **fields):
    return ("object", fields, needs)


COMMAND = ("union", NAME, listing(TEXT, 1))
FREE = ("free",)
TEXTS, TEXT_MAP = listing(TEXT), mapping(TEXT)
PORT = integer(1, 65535)

MODEL = record(
    context_window=POSITIVE, max_output_tokens=POSITIVE, reasoning=BOOL, images=BOOL,
    price=record(("input", "output"), input=AMOUNT, output=AMOUNT, cache_read=AMOUNT, cache_write=AMOUNT),
)
PROVIDER = record(
    protocol=choice("anthropic", "responses", "chat"), base_url=TEXT, root=choice("auto", "exact"), api_key=TEXT,
    api_key_env=TEXT, headers=TEXT_MAP, models=mapping(MODEL), connect_ms=COUNT, headers_ms=COUNT, idle_ms=COUNT,
    effort=choice("none", "minimal", "low", "medium", "high", "xhigh", "max"), max_retries=COUNT, retry_base_ms=COUNT,
    retry_max_ms=COUNT, retry_after_cap_ms=COUNT,
)
CLIENT = dict(client_id=NAME, client_secret_env=NAME, client_key_file=NAME, client_key_env=NAME, client_key_id=NAME)
SERVER = record(
    type=choice("stdio", "http", "sse"), command=COMMAND, args=TEXTS, env=TEXT_MAP, cwd=NAME, url=NAME, headers=TEXT_MAP,
    oauth=record(
        grant=choice("authorization_code", "client_credentials", "jwt_bearer", "enterprise"), issuer=NAME, **CLIENT,
        client_metadata_url=NAME, assertion_file=NAME, assertion_env=NAME, assertion_command=NAME,
        identity_provider=record(issuer=NAME, token_endpoint=NAME, **CLIENT), dpop=BOOL, scopes=TEXTS,
        callback_port=PORT,
    ),
    protocol=choice("auto", "legacy", "2026-07-28"), disabled=BOOL, required=BOOL, include_tools=TEXTS,
    exclude_tools=TEXTS, tool_names=TEXT_MAP, connect_timeout_ms=POSITIVE, list_timeout_ms=POSITIVE,
    call_timeout_ms=POSITIVE, call_max_ms=POSITIVE, max_message_bytes=POSITIVE, trust_annotations=BOOL, sandbox=BOOL,
)
LANGUAGE = record(
    command=COMMAND, args=TEXTS, env=TEXT_MAP, extensions=TEXTS, language_ids=TEXT_MAP, root_markers=TEXTS,
    initialization_options=FREE, settings=FREE, disabled=BOOL, initialize_timeout_ms=POSITIVE, request_timeout_ms=POSITIVE,
)
HOOK = record(
    ("event", "command"),
    event=choice(
        "pre_tool_use", "post_tool_use", "session_start", "user_prompt_submit", "pre_compact", "stop", "notification"
    ),
    command=LINE, tool_pattern=TEXT, timeout_ms=integer(1, 600000),
)
SANDBOX = record(
    mode=choice("off", "workspace", "allowlist", "workspace-only", "allow-list"), allowed_paths=TEXTS,
    network=("union", choice("on", "off"), record(("allow",), allow=TEXTS)), private_tmp=BOOL, require_enforcement=BOOL,
    deny_hard_linked_writes=BOOL,
)
SETTINGS = dict(
    api_key=TEXT, api_key_command=TEXT, oauth_credentials=FREE, model=TEXT, providers=mapping(PROVIDER),
    mcp_servers=mapping(SERVER), permissions=None, hooks=None, sandbox=SANDBOX, lsp=record(servers=mapping(LANGUAGE)),
    auth=FREE, env=TEXT_MAP, custom_instructions=TEXT, input_mode=choice("vim", "emacs", "default"), theme=TEXT,
    max_tokens=COUNT, reserve_recent=COUNT, vim_timeout_ms=COUNT, auto_max_rounds=COUNT, audit_required=BOOL,
)
DEFAULTS = dict(
    api_key=None, api_key_command=None, oauth_credentials=None, model="claude-sonnet-4-20250514", providers={},
    mcp_servers={}, sandbox={}, lsp={"servers": {}}, auth={"providers": {}}, env={}, custom_instructions="",
    input_mode="default", theme="auto", max_tokens=None, reserve_recent=3, vim_timeout_ms=500, auto_max_rounds=1,
    audit_required=False,
)
SENSITIVE = ("api_key", "oauth_credentials", "api_key_command", "audit_required", "auth")


def is_overlay_key(key):
    return key in ("disabled", "required", "include_tools", "exclude_tools", "tool_names") or key.endswith("_ms")


def is_definition(entry):
    return "command" in entry or "url" in entry


def camel(key):
    head, *tail = key.split("_")
    return head + "".join(part.capitalize() for part in tail)


# --- one tier ---------------------------------------------------------------------------------------------------------


class Tier:
    def __init__(self, name, text=None, value=None):
        self.name = name
        self.text = text
        self.issues = []
        self.values = {}
        self.hooks = []
        self.rules = []
        self.order = []
        self.broken_servers = set()
        self.server_places = {}
        node = from_value(value) if text is None else self.parse()
        if node is not None:
            self.root(node)
        self.issues.sort(key=lambda issue: (issue["line"] or 0, issue["column"] or 0))

    def parse(self):
        if self.text.startswith("\ufeff"):
            self.text = self.text[1:]
        try:
            return Reader(self.text).document()
        except Syntax as problem:
            self.report("error", "bad_json", None, problem.offset)

    def report(self, severity, code, key, offset):
        line = column = None
        if offset is not None and self.text is not None:
            before = self.text[:offset].replace("\r\n", "\n").replace("\r", "\n")
            line = before.count("\n") + 1
            column = len(before) - (before.rfind("\n") + 1) + 1
        issue = {"code": code, "tier": self.name, "key": key, "line": line, "column": column, "message": code}
        self.issues.append({**issue, "severity": severity})

    def members(self, node, known, prefix):
        """The last value of a key at its first place; snake_case before camelCase."""
        spellings = {camel(key): key for key in known if camel(key) != key}
        found = {}
        for written, place, value in node.value:
            key = spellings.get(written, written) if written not in known else written
            other = written != key
            if key in found:
                was_other = found[key][2]
                if other == was_other:
                    self.report("warning", "duplicate_key", prefix + key, place)
                    found[key] = (place, value, other)
                else:
                    self.report("warning", "duplicate_spelling", prefix + key, place if other else found[key][0])
                    if was_other:
                        found[key] = (place, value, other)
            else:
                found[key] = (place, value, other)
        return [(key, place, value) for key, (place, value, _) in found.items()]

    def check(self, node, spec, path):
        """The plain value in a list, or an empty list for what was rejected."""
        if spec[0] == "union":
            for member in spec[1:]:
                kind = "object" if member[0] in ("map", "object") else member[0]
                if kind == node.kind:
                    return self.check(node, member, path)
            self.report("error", "wrong_type", path, node.offset)
            return []
        if spec[0] == "free":
            if node.kind != "object":
                self.report("error", "wrong_type", path, node.offset)
                return []
            return [free(node)]
        if node.kind != ("object" if spec[0] == "map" else spec[0]):
            self.report("error", "wrong_type", path, node.offset)
            return []
        if spec[0] in ("text", "number", "bool"):
            if spec[1](node.value):
                return [node.value]
            self.report("error", "invalid_value", path, node.offset)
            return []
        if spec[0] == "array":
            before = len(self.issues)
            items = [self.check(item, spec[1], "%s.%d" % (path, i)) for i, item in enumerate(node.value)]
            if any(issue["severity"] == "error" for issue in self.issues[before:]):
                return []
            if len(items) < spec[2]:
                self.report("error", "invalid_value", path, node.offset)
                return []
            return [[item[0] for item in items]]
        if spec[0] == "map":
            result = {}
            for key, _, value in self.members(node, (), path + "."):
                if value.kind != "null":
                    for checked in self.check(value, spec[1], "%s.%s" % (path, key)):
                        result[key] = checked
            return [result]
        return self.object(node, spec, path)

    def object(self, node, spec, path):
        result = {}
        for key, place, value in self.members(node, spec[1], path + "."):
            inner = "%s.%s" % (path, key)
            if key not in spec[1]:
                self.report("warning", "unknown_key", inner, place)
            elif value.kind != "null":
                for checked in self.check(value, spec[1][key], inner):
                    result[key] = checked
        for key in spec[2]:
            if key not in result:
                if not any(issue["key"] == "%s.%s" % (path, key) for issue in self.issues):
                    self.report("error", "invalid_value", "%s.%s" % (path, key), node.offset)
                return []
        return [result]

    def root(self, node):
        if node.kind != "object":
            ignored = self.name in CHECKOUT
            self.report("warning" if ignored else "error", "not_an_object", None, node.offset)
            return
        for key, place, value in self.members(node, SETTINGS, ""):
            if key == "$schema":
                continue
            if key not in SETTINGS:
                self.report("warning", "unknown_key", key, place)
                continue
            self.order.append(key)
            if value.kind == "null":
                continue
            own_key = self.name == "env" and key == "api_key"
            if key == "permissions":
                self.permissions(value)
            elif key in SENSITIVE and self.name != "user" and not own_key:
                self.report("warning", "sensitive_ignored", key, value.offset)
            elif self.name == "managed":
                self.report("warning", "managed_not_deny", key, value.offset)
            elif key == "hooks":
                self.read_hooks(value)
            elif key == "mcp_servers":
                self.servers(value)
            else:
                for checked in self.check(value, SETTINGS[key], key):
                    self.values[key] = checked

    def read_hooks(self, node):
        if node.kind != "array":
            self.report("error", "wrong_type", "hooks", node.offset)
            return
        for index, item in enumerate(node.value):
            for hook in self.check(item, HOOK, "hooks.%d" % index):
                self.hooks.append((index, hook))

    def servers(self, node):
        if node.kind != "object":
            self.report("error", "wrong_type", "mcp_servers", node.offset)
            return
        result = self.values["mcp_servers"] = {}
        for name, _, entry in self.members(node, (), "mcp_servers."):
            path = "mcp_servers." + name
            if entry.kind == "null":
                continue
            before = sum(issue["severity"] == "error" for issue in self.issues)
            if entry.kind == "object":
                entry = self.server_as_a_whole(entry, path)
            for checked in self.check(entry, SERVER, path):
                result[name] = checked
                self.server_places[name] = entry.offset
            if sum(issue["severity"] == "error" for issue in self.issues) > before:
                self.broken_servers.add(name)

    def server_as_a_whole(self, node, path):
        kept = []
        for key, place, value in node.value:
            if key in ("trust_annotations", "trustAnnotations") and self.name != "user" and value.kind != "null":
                self.report("warning", "sensitive_ignored", path + ".trust_annotations", value.offset)
            else:
                kept.append((key, place, value))
        given = {key: value for key, _, value in kept if value.kind != "null"}
        if "command" in given and "url" in given:
            self.report("error", "invalid_value", path, node.offset)
        elif not is_definition(given):
            for key, value in given.items():
                if key in SERVER[1] and not is_overlay_key(key):
                    self.report("error", "invalid_value", "%s.%s" % (path, key), value.offset)
        return Node("object", kept, node.offset)

    def permissions(self, node):
        if node.kind == "object":
            for pattern, _, value in self.members(node, (), "permissions."):
                key = "permissions." + pattern
                mode = self.mode(value, key)
                if mode is not None:
                    self.rule(key, value, {"tool_pattern": pattern, "mode": mode})
        elif node.kind == "array":
            for index, item in enumerate(node.value):
                self.rule_object(item, "permissions.%d" % index)
        else:
            self.report("error", "wrong_type", "permissions", node.offset)

    def rule_object(self, item, key):
        fields = ("tool_pattern", "mode", "reason", "match", "not_match")
        if item.kind != "object":
            self.report("error", "wrong_type", key, item.offset)
            return
        given = {name: value for name, _, value in self.members(item, fields, key + ".")}
        missing = [name for name in ("tool_pattern", "mode") if name not in given]
        for name in missing:
            self.report("error", "invalid_value", "%s.%s" % (key, name), item.offset)
        if missing:
            return
        pattern, reason = given["tool_pattern"], given.get("reason")
        mode = self.mode(given["mode"], key + ".mode")
        if pattern.kind != "text":
            self.report("error", "wrong_type", key + ".tool_pattern", pattern.offset)
        elif mode is not None:
            rule = {"tool_pattern": pattern.value, "mode": mode}
            if reason is not None and reason.kind == "text":
                rule["reason"] = reason.value
            self.rule(key, item, rule)

    def mode(self, node, key):
        if node.kind != "text":
            self.report("error", "wrong_type", key, node.offset)
        elif node.value not in ("allow", "deny", "prompt"):
            self.report("error", "invalid_value", key, node.offset)
        else:
            return node.value

    def rule(self, key, node, rule):
        if self.name == "managed" and rule["mode"] != "deny":
            self.report("warning", "managed_not_deny", key, node.offset)
        else:
            self.rules.append((key, rule))


def free(node):
    if node.kind == "object":
        return {key: free(value) for key, _, value in node.value if value.kind != "null"}
    return [free(item) for item in node.value] if node.kind == "array" else node.value


# --- all tiers --------------------------------------------------------------------------------------------------------


def overlay(lower, upper):
    """Deep merge by key; anything but two objects is replaced."""
    if not isinstance(lower, dict) or not isinstance(upper, dict):
        return upper
    return {**lower, **{key: overlay(lower[key], value) if key in lower else value for key, value in upper.items()}}


def merge(tiers, without):
    """Values and origins over the tiers, lowest first; `without` holds (tier, dotted key) of what waits."""
    config = {key: value for key, value in DEFAULTS.items()}
    origins = {}
    for tier in tiers:
        for key, value in tier.values.items():
            if key == "mcp_servers":
                continue
            if isinstance(value, dict):
                value = {name: member for name, member in value.items() if (tier.name, "%s.%s" % (key, name)) not in without}
            if key == "providers":
                merged = dict(config[key])
                for name, entry in value.items():
                    unit = "base_url" in entry and tier.name in FILES
                    merged[name] = entry if unit else overlay(merged.get(name, {}), entry)
                    origins["providers." + name] = tier.name
                config[key] = merged
                continue
            if key == "lsp":
                servers = dict(config["lsp"]["servers"])
                for name, entry in value.get("servers", {}).items():
                    if (tier.name, "lsp.servers." + name) in without:
                        continue
                    servers[name] = entry if "command" in entry else overlay(servers.get(name, {}), entry)
                    origins["lsp.servers." + name] = tier.name
                config[key] = {"servers": servers}
                continue
            config[key] = overlay(config[key], value)
            leaves(key, value, tier.name, origins)
    for key, value in DEFAULTS.items():
        if not isinstance(value, dict):
            origins.setdefault(key, "default")
    config["mcp_servers"] = merge_servers(tiers, without, origins)
    return config, origins


def leaves(path, value, name, origins):
    if isinstance(value, dict):
        for key, member in value.items():
            leaves("%s.%s" % (path, key), member, name, origins)
    else:
        origins[path] = name


def merge_servers(tiers, without, origins):
    definitions, adjustments = {}, {}
    for tier in tiers:
        for name, entry in tier.values.get("mcp_servers", {}).items():
            if (tier.name, "mcp_servers." + name) in without:
                continue
            if is_definition(entry):
                definitions[name] = {key: value for key, value in entry.items() if not is_overlay_key(key)}
                origins["mcp_servers." + name] = tier.name
            over = {key: value for key, value in entry.items() if is_overlay_key(key)}
            adjustments.setdefault(name, {}).update(over)
    return {name: {**definitions.get(name, {}), **adjustments[name]} for name in adjustments}


def tightens(key, value, below):
    mode = {"workspace-only": "workspace", "allow-list": "allowlist"}
    if key == "mode":
        wanted, lower = mode.get(value, value), mode.get(below, below)
        return wanted == lower or (wanted == "workspace" and lower in (None, "off"))
    if key == "network":
        return value == "off" or value == ("on" if below is None else below)
    if key in ("require_enforcement", "deny_hard_linked_writes"):
        return value is True or below is not True
    if key == "private_tmp":
        return value == (True if below is None else below)
    return value == ([] if below is None else below)


def waiting(tiers):
    """What of a checkout waits until the workspace is trusted."""
    pending = []
    user = next((tier.values for tier in tiers if tier.name == "user"), {})
    sandbox = dict(user.get("sandbox", {}))
    for tier in tiers:
        if tier.name not in CHECKOUT:
            continue

        def wait(kind, key):
            pending.append({"kind": kind, "tier": tier.name, "key": key})

        values = tier.values
        for key in tier.order:
            if key == "env":
                for name in values.get("env", {}):
                    wait("env", "env." + name)
            elif key == "hooks":
                for index, _ in tier.hooks:
                    wait("hook", "hooks.%d" % index)
            elif key == "permissions":
                for place, rule in tier.rules:
                    if rule["mode"] == "allow":
                        wait("permission", place)
            elif key == "providers":
                for name in values.get("providers", {}):
                    wait("provider", "providers." + name)
            elif key == "mcp_servers":
                for name, entry in values.get("mcp_servers", {}).items():
                    users = user.get("mcp_servers", {}).get(name, {})
                    back = entry.get("disabled") is False and users.get("disabled") is True
                    if is_definition(entry) or back:
                        wait("mcp_server", "mcp_servers." + name)
            elif key == "lsp":
                for name, entry in values.get("lsp", {}).get("servers", {}).items():
                    if "command" in entry:
                        wait("lsp_server", "lsp.servers." + name)
            elif key == "sandbox":
                for name, value in values.get("sandbox", {}).items():
                    if not tightens(name, value, sandbox.get(name)):
                        wait("sandbox", "sandbox." + name)
        sandbox.update(values.get("sandbox", {}))
    return pending


def read(value, decode_base64):
    tiers, broken = [], []
    for name in FILES:
        content = value.get("files", {}).get(name)
        if isinstance(content, dict):
            try:
                content = decode_base64(content["base64"]).decode("utf-8")
            except UnicodeDecodeError:
                issue = {"code": "not_utf8", "tier": name, "key": None, "line": None, "column": None, "message": ""}
                broken.append({**issue, "severity": "error"})
                content = None
        if content is not None:
            tiers.append(Tier(name, text=content))
    variables = {name: text for name, text in value.get("env", {}).items() if text != ""}
    env = {key: variables[name] for key, name in (("api_key", "HANZO_API_KEY"), ("model", "HANZO_MODEL")) if name in variables}
    if "HANZO_BASE_URL" in variables:
        env["providers"] = {"hanzo": {"base_url": variables["HANZO_BASE_URL"]}}
    tiers.append(Tier("env", value=env))
    tiers.append(Tier("flag", value=value.get("flags", {})))
    return tiers, broken


def config(value, decode_base64):
    tiers, issues = read(value, decode_base64)
    trusted = value.get("trusted", False)
    pending = [] if trusted else waiting(tiers)
    layers = [tier for tier in tiers if tier.name in LAYERS]
    whole, origins = merge(layers, set())
    waits = {(one["tier"], one["key"]) for one in pending}
    running, _ = merge(layers, waits)
    by_name = {tier.name: tier for tier in tiers}

    def of(name):
        return [by_name[name]] if name in by_name else []

    ordered = [tier for name in ("flag", "local", "project", "user") for tier in of(name)]
    permissions = {}
    for tier in ordered:
        for _, rule in tier.rules:
            permissions.setdefault(rule["tool_pattern"], rule["mode"])
    broken = {
        name for tier in tiers for name in tier.broken_servers if (tier.name, "mcp_servers." + name) not in waits
    }
    defined = {
        name for tier in tiers for name, entry in tier.values.get("mcp_servers", {}).items() if is_definition(entry)
    }
    for tier in tiers:
        for name, entry in tier.values.get("mcp_servers", {}).items():
            if name not in defined and name not in tier.broken_servers and set(entry) != {"disabled"}:
                tier.report("warning", "overlay_without_definition", "mcp_servers." + name, tier.server_places[name])
        tier.issues.sort(key=lambda issue: (issue["line"] or 0, issue["column"] or 0))
        issues += tier.issues
    rank = FILES + ("env", "flag")
    issues.sort(key=lambda issue: rank.index(issue["tier"]))

    def told(severity):
        chosen = (issue for issue in issues if issue["severity"] == severity)
        return [{key: issue[key] for key in issue if key != "severity"} for issue in chosen]

    hooks = [(tier, index, hook) for name in LAYERS for tier in of(name) for index, hook in tier.hooks]
    return {
        "config": {**whole, "permissions": permissions, "hooks": [hook for _, _, hook in hooks]},
        "warnings": told("warning"),
        "errors": told("error"),
        "active": {
            "mcp_servers": sorted(
                name
                for name, server in running["mcp_servers"].items()
                if is_definition(server) and server.get("disabled") is not True and name not in broken
            ),
            "hooks": sum((tier.name, "hooks.%d" % index) not in waits for tier, index, _ in hooks),
            "permission_rules": [
                {**rule, "tier": tier.name}
                for tier in of("managed") + ordered
                for key, rule in tier.rules
                if (tier.name, key) not in waits
            ],
        },
        "pending_trust": pending,
        "origins": origins,
    }
