"""fastapi-users as in its documentation: SQLAlchemy on SQLite, bearer tokens, a route for active users."""

import os
import uuid
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from fastapi_users import BaseUserManager, FastAPIUsers, UUIDIDMixin, schemas
from fastapi_users.authentication import AuthenticationBackend, BearerTransport, JWTStrategy
from fastapi_users.db import SQLAlchemyBaseUserTableUUID, SQLAlchemyUserDatabase
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase

SECRET = "for-the-benchmark-only-0123456789abcdef"
engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['DATABASE']}")
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    pass


class User(SQLAlchemyBaseUserTableUUID, Base):
    pass


class UserManager(UUIDIDMixin, BaseUserManager[User, uuid.UUID]):
    reset_password_token_secret = verification_token_secret = SECRET


async def user_manager():
    async with sessions() as session:
        yield UserManager(SQLAlchemyUserDatabase(session, User))


@asynccontextmanager
async def lifespan(_):
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield


backend = AuthenticationBackend(
    name="jwt",
    transport=BearerTransport(tokenUrl="auth/login"),
    get_strategy=lambda: JWTStrategy(secret=SECRET, lifetime_seconds=86400),
)
users = FastAPIUsers[User, uuid.UUID](user_manager, [backend])
app = FastAPI(lifespan=lifespan)
app.include_router(users.get_auth_router(backend), prefix="/auth")
app.include_router(users.get_register_router(schemas.BaseUser[uuid.UUID], schemas.BaseUserCreate), prefix="/auth")


@app.get("/guard")
async def guard(user: User = Depends(users.current_user(active=True))):  # noqa: B008
    return {"id": user.id}
