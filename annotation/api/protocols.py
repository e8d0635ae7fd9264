"""API endpoints of protocols that teams declare in files: list, store, read, check and delete."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import IO, Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import batch_named
from annotation.campaign_setup.suitable_protocols import describe_fit
from annotation.models import ProtocolFile
from annotation.protocol_files import (
    ProtocolError,
    delete,
    newest_first,
    store,
    visible_files,
)
from annotation.protocols.declared import protocol_of
from datasets.access import TeamError, check_managed, team_for
from datasets.api.base import Exact, PageParameters, RefusedBodyError, Strict, problem
from datasets.api.batches import OwnedSerializer
from datasets.api.parsers import StrictJSONParser, read_body
from datasets.api.routes import Routes, given
from tandem.protocols import protocol_file
from tandem.protocols.file_structure import LONGEST, ProtocolFileError, schema
from tandem.protocols.protocol_file import LONGEST_PART

api = Routes("protocols")
NAME = "protocol.toml"
MOST_BYTES = 4 * LONGEST
MOST_PARTS = 4
MOST_COUNTED = 500
"""How many queries of a batch are counted while a client waits."""


class TomlParser(BaseParser):
    """Parses the file itself as the text of a new protocol."""

    media_type = "application/toml"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return {"text": read_body(stream, MOST_BYTES).decode()}
        except UnicodeDecodeError as error:
            raise ParseError("the file is not UTF-8; save it in that encoding") from error


class ProtocolParameters(PageParameters):
    name = Exact("only the versions of the protocol of exactly this name")


class ProtocolSerializer(OwnedSerializer):
    id = serializers.UUIDField(source="uid")
    name = serializers.CharField()
    version = serializers.CharField()
    title = serializers.CharField()
    digest = serializers.CharField(help_text="the SHA-256 of the file and the texts that it names")
    created_at = serializers.DateTimeField()


class WholeProtocolSerializer(ProtocolSerializer):
    text = serializers.CharField(help_text="the file")
    parts = serializers.DictField(
        child=serializers.CharField(), help_text="the texts that the file names, by name"
    )


class ProtocolTextSerializer(Strict):
    text = serializers.CharField(
        max_length=LONGEST, trim_whitespace=False, help_text="the file, in TOML"
    )
    parts = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_PART, trim_whitespace=False),
        default=dict,
        help_text="the texts that the file names, such as its guideline, by name",
    )

    def validate_parts(self, parts: dict[str, str]) -> dict[str, str]:
        if len(parts) > MOST_PARTS:
            raise serializers.ValidationError(f"has over {MOST_PARTS} texts; send those it names")
        return parts


class NewProtocolSerializer(ProtocolTextSerializer):
    team = serializers.CharField(required=False, help_text="the team that it is for")


class CheckedProtocolSerializer(ProtocolTextSerializer):
    batch = serializers.CharField(
        required=False, trim_whitespace=False, help_text="the name of a batch, to see what fits"
    )


class ProtocolCheckSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField()
    variables = serializers.ListField(child=serializers.CharField())
    measures = serializers.ListField(child=serializers.CharField())
    fits = serializers.CharField(
        allow_null=True, help_text="how many units it asks over the batch, or why it does not fit"
    )


class DeletedProtocolSerializer(serializers.Serializer[Any]):
    deleted = serializers.CharField(help_text="its name and version")


def _wrong_file(error: ProtocolFileError) -> RefusedBodyError:
    lines = [f"text.{each.place.line}" if each.place.line else "text" for each in error.problems]
    texts = [f"{each.wrong}; {each.remedy}" for each in error.problems]
    return RefusedBodyError("the file is not a protocol", list(map(problem, texts, lines)))


def _read(body: dict[str, Any]) -> protocol_file.ProtocolFile:
    return protocol_file.read_protocol(body["text"], NAME, body["parts"].__getitem__)


@api.list(
    "protocols/",
    "List the protocols of teams",
    "The versions of protocols that the account's teams declared in files, by name, the newest "
    "version first. The site's own protocols are not among them.",
    ProtocolSerializer,
    name="protocols",
    takes=ProtocolParameters,
)
def protocols_list(request: Request) -> Any:
    rows, asked = newest_first(visible_files(get_account(request))), given(request)
    return rows.filter(name=asked["name"]) if "name" in asked else rows


@api.post(
    "protocols/",
    "Add a protocol",
    "Stores a protocol for a team, as `tandem protocol add` does. Send the file itself as "
    "`application/toml`, or JSON with its text. The same file again changes nothing. 422 with "
    "each error and its line (`text.LINE`), and for another file under a version that a campaign "
    "uses.",
    WholeProtocolSerializer,
    body=NewProtocolSerializer,
    status=201,
    raises={ProtocolFileError: _wrong_file, ProtocolError: 422, TeamError: 422},
    refuses=(422,),
    once=True,
    view={"parser_classes": [StrictJSONParser, TomlParser]},
)
def protocols_create(request: Request) -> Any:
    user, body = get_account(request), given(request)
    return store(_read(body), team_for(user, body.get("team")), user)


@api.get(
    "protocols/schema/",
    "Read the form of a protocol's file",
    "The JSON Schema of the file, for editors.",
    {(200, "application/json"): OpenApiTypes.ANY},
    name="protocol-schema",
)
def protocol_schema_read(request: Request) -> Any:
    return Response(schema())


@api.post(
    "protocols/check/",
    "Check a protocol",
    "Checks a file and stores nothing. With a batch, it says how many units the protocol would "
    "ask, or why it does not fit.",
    ProtocolCheckSerializer,
    name="protocol-check",
    body=CheckedProtocolSerializer,
    raises={ProtocolFileError: _wrong_file},
    refuses=(422,),
)
def protocols_check(request: Request) -> Any:
    body = given(request)
    batch = batch_named(get_account(request), body["batch"]) if "batch" in body else None
    protocol = protocol_of(_read(body))
    return {
        "name": protocol.name,
        "version": protocol.version,
        "variables": [variable.name for variable in protocol.variables],
        "measures": [measure.name for measure in protocol.measures],
        "fits": describe_fit(batch, protocol, MOST_COUNTED) if batch else None,
    }


@api.get(
    "protocols/<uuid:uid>/",
    "Read a protocol",
    "A version of a team's protocol, with its file.",
    WholeProtocolSerializer,
    name="protocol",
)
def protocols_read(request: Request, uid: uuid.UUID) -> Any:
    return _file(request, uid)


@api.post(
    "protocols/<uuid:uid>/delete/",
    "Delete a protocol",
    "Deletes a version that no campaign uses; 422 for one that is used.",
    DeletedProtocolSerializer,
    name="protocol-delete",
    raises={ProtocolError: 422},
    once=True,
)
def protocols_delete(request: Request, uid: uuid.UUID) -> Any:
    file = _file(request, uid)
    check_managed(get_account(request), file)
    delete(file)
    return {"deleted": str(file)}


def _file(request: Request, uid: uuid.UUID) -> ProtocolFile:
    return get_object_or_404(visible_files(get_account(request)), uid=uid)
